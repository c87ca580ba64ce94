type Nulls<Name extends string> = { [Each in Name]: null }

/** An object with these members, all null. It comes out of JSON, because the runtime copies such objects fastest. */
export const nulls = <Name extends string>(names: readonly Name[]): Nulls<Name> =>
  JSON.parse(JSON.stringify(Object.fromEntries(names.map((name) => [name, null]))))

/** Makes a function that returns an object with these members. It copies those in `names` from another object; the others are null. */
export function picker<Name extends Member, Member extends string>(names: readonly Name[], members: readonly Member[]) {
  const empty = nulls(members)
  return <From extends Record<Name, unknown>>(from: From): Pick<From, Name> & Nulls<Exclude<Member, Name>> => {
    const picked: Record<string, unknown> = { ...empty }
    for (const name of names) picked[name] = from[name]
    return picked as Pick<From, Name> & Nulls<Exclude<Member, Name>>
  }
}

/** The names of an object's members. */
export const namesOf = <T extends object>(object: T) => Object.keys(object) as (keyof T & string)[]

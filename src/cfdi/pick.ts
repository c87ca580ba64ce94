/** An object with these members, all null. It comes out of JSON, because the runtime copies such objects fastest. */
export const nulls = <Name extends string>(names: readonly Name[]): { [Each in Name]: null } =>
  JSON.parse(JSON.stringify(Object.fromEntries(names.map((name) => [name, null]))))

/** Makes a function that copies the members with these names into a new object. Its other `members`, if it has any, are null. */
export function picker<Name extends string>(names: readonly Name[], members: readonly string[] = names) {
  const empty = nulls(members)
  return <From extends Record<Name, unknown>>(from: From): Pick<From, Name> => {
    const picked: Record<string, unknown> = { ...empty }
    for (const name of names) picked[name] = from[name]
    return picked as Pick<From, Name>
  }
}

/** The names of an object's members. */
export const namesOf = <T extends object>(object: T) => Object.keys(object) as (keyof T & string)[]

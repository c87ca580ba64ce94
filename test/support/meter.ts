/** What a piece of work cost in the bindings' own terms. */
export interface Cost {
  d1_calls: number
  d1_statements: number
  rows_read: number
  rows_written: number
  r2_puts: number
  r2_gets: number
}

interface D1Meta {
  meta?: { rows_read?: number; rows_written?: number }
}
export type Method = (this: unknown, ...args: unknown[]) => unknown

const nothing = (): Cost => ({ d1_calls: 0, d1_statements: 0, rows_read: 0, rows_written: 0, r2_puts: 0, r2_gets: 0 })

/**
 * Counts what D1 and R2 do while `work` runs. The bindings' prototypes are patched inside this isolate, so everybody's calls count:
 * exact as long as nothing else runs meanwhile. D1 has no public place through which every call goes, hence its inner `_send`.
 */
export async function costOf<T>(
  ledger: D1Database,
  files: R2Bucket,
  work: () => Promise<T>,
): Promise<{ cost: Cost; result: T; most_of_database: number }> {
  const cost = nothing()
  const calls = new Map<unknown, number>()
  const undo = [
    patched(
      ownerOf((ledger as unknown as { alwaysPrimarySession: object }).alwaysPrimarySession, '_send'),
      '_send',
      (send) =>
        async function (this: unknown, ...args) {
          const answer = (await send.apply(this, args)) as D1Meta | D1Meta[]
          cost.d1_calls++
          calls.set(this, (calls.get(this) ?? 0) + 1)
          for (const { meta } of Array.isArray(answer) ? answer : [answer]) {
            cost.d1_statements++
            cost.rows_read += meta?.rows_read ?? 0
            cost.rows_written += meta?.rows_written ?? 0
          }
          return answer
        },
    ),
    patched(
      ownerOf(files, 'put'),
      'put',
      counting(() => cost.r2_puts++),
    ),
    patched(
      ownerOf(files, 'get'),
      'get',
      counting(() => cost.r2_gets++),
    ),
  ]
  try {
    return { result: await work(), cost, most_of_database: Math.max(0, ...calls.values()) }
  } finally {
    for (const restore of undo) restore()
  }
}

const counting =
  (count: () => void) =>
  (method: Method): Method =>
    function (this: unknown, ...args) {
      count()
      return method.apply(this, args)
    }

export function ownerOf(object: object, name: string): Record<string, Method> {
  let owner: object | null = object
  while (owner !== null && !Object.hasOwn(owner, name)) owner = Object.getPrototypeOf(owner) as object | null
  if (owner === null) throw new Error(`There is no method ${name} to be counted.`)
  return owner as Record<string, Method>
}

export function patched(owner: Record<string, Method>, name: string, wrap: (method: Method) => Method): () => void {
  const method = owner[name] as Method
  owner[name] = wrap(method)
  return () => {
    owner[name] = method
  }
}

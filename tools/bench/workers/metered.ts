import { DurableObject } from 'cloudflare:workers'
import * as service from '../../../src/index.ts'
import { type Method, ownerOf, patched } from '../../../test/support/meter.ts'

export * from '../../../src/index.ts'

/** What Durable Objects did since it was last asked for. */
export interface Objects {
  requests: number
  rows_read: number
  rows_written: number
}

const nothing = (): Objects => ({ requests: 0, rows_read: 0, rows_written: 0 })
let objects = nothing()

/** Milliseconds by which the service's clock is ahead. */
let ahead = 0
const RealDate = Date
globalThis.Date = class extends RealDate {
  constructor(...args: [] | [number]) {
    super(...((args.length === 0 ? [RealDate.now() + ahead] : args) as [number]))
  }
  static override now = () => RealDate.now() + ahead
} as DateConstructor

const counting =
  (what: keyof Objects) =>
  (method: Method): Method =>
    function (this: unknown, ...args) {
      objects[what]++
      return method.apply(this, args)
    }

const refusing = (name: string) => (): Method => () => {
  throw new Error(`The meter does not know what ${name} of a Durable Object's storage costs.`)
}

let isPatched = false

/** Counts from now on what objects read and write. Nobody uses another way of storing so far, and who begins to is told. */
function meterStorage(storage: DurableObjectStorage): void {
  if (isPatched) return
  isPatched = true
  const { kv, sql } = storage as unknown as { kv: object; sql: object }
  for (const [name, what] of Object.entries({ get: 'rows_read', put: 'rows_written', delete: 'rows_written' } as const))
    patched(ownerOf(kv, name), name, counting(what))
  patched(ownerOf(kv, 'list'), 'list', refusing('kv.list'))
  patched(ownerOf(sql, 'exec'), 'exec', refusing('sql.exec'))
  for (const name of ['get', 'put', 'delete', 'deleteAll', 'list', 'setAlarm']) patched(ownerOf(storage, name), name, refusing(name))
}

class Metered extends DurableObject<Env> {
  constructor(ctx: DurableObjectState, env: Env) {
    meterStorage(ctx.storage)
    super(ctx, env)
  }
}

for (const it of Object.values(service)) if (Object.getPrototypeOf(it) === DurableObject) Object.setPrototypeOf(it, Metered)

/** A stub each of whose calls counts. */
const meteredStub = (stub: object): object =>
  new Proxy(stub, {
    get(target, key) {
      if (key === 'id' || key === 'name') return Reflect.get(target, key)
      return (...args: unknown[]) => {
        objects.requests++
        return (target as Record<string | symbol, Method>)[key]!(...args)
      }
    },
  })

const seen = new WeakSet<object>()

function meterStubs(env: Env): Env {
  for (const binding of Object.values(env) as object[]) {
    if (binding.constructor.name !== 'DurableObjectNamespace') continue
    for (const name of ['get', 'getByName']) {
      const owner = ownerOf(binding, name)
      if (seen.has(owner[name]!)) continue
      patched(
        owner,
        name,
        (method) =>
          function (this: unknown, ...args) {
            return meteredStub(method.apply(this, args) as object)
          },
      )
      seen.add(owner[name]!)
    }
  }
  return env
}

export default {
  fetch(request, env, ctx) {
    const { pathname, searchParams } = new URL(request.url)
    if (pathname === '/bench/clock') {
      ahead = Number(searchParams.get('time')) - RealDate.now()
      return new Response()
    }
    if (pathname === '/bench/objects') {
      const answer = Response.json(objects)
      objects = nothing()
      return answer
    }
    return service.default.fetch(request, meterStubs(env), ctx)
  },
  queue: (batch, env) => service.default.queue(batch, meterStubs(env)),
  scheduled: (controller, env) => service.default.scheduled(controller, meterStubs(env)),
} satisfies ExportedHandler<Env>

/**
 * The local runtime of `npm start`. It runs the Worker as it was built last (build.ts), with the bindings of wrangler.toml, and watches
 * nothing. `npx wrangler dev` does the same with a bundler that watches the sources, which takes more memory.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs, parseEnv } from 'node:util'
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare, type V4MiniflareOptions } from 'miniflare'
import { builtWorker } from './build.ts'
import { configured, ROOT } from './wrangler.ts'

const { values } = parseArgs({
  options: { port: { type: 'string' }, 'persist-to': { type: 'string' }, var: { type: 'string', multiple: true, default: [] } },
})
const given = values.var.map((one) => [one.slice(0, one.indexOf(':')), one.slice(one.indexOf(':') + 1)])

/** Serves the scheduled handler at the path that `wrangler dev` has for it, and hands everything else on. */
const FRONT = `export default {
  async fetch(request, env) {
    const { pathname, searchParams } = new URL(request.url)
    if (pathname !== '/cdn-cgi/handler/scheduled') return env.SERVICE.fetch(request)
    const time = searchParams.get('time')
    const { outcome } = await env.SERVICE.scheduled({ cron: searchParams.get('cron') ?? '', scheduledTime: time ? new Date(Number(time)) : new Date() })
    return new Response(outcome, { status: outcome === 'ok' ? 200 : 500 })
  },
}`

const { name, vars, compatibility_date } = configured('wrangler.toml') as {
  name: string
  vars: Record<string, string>
  compatibility_date: string
}
const options: V4MiniflareOptions = {
  host: '127.0.0.1',
  port: Number(values.port),
  resourcePersistencePath: join(values['persist-to']!, 'v3'),
  cf: false,
  // For looking into the isolate.
  ...(process.env['INSPECTOR_PORT'] && { inspectorPort: Number(process.env['INSPECTOR_PORT']) }),
  logRequests: false,
  log: new Log(LogLevel.WARN),
  workers: [
    {
      name: 'front',
      modules: true,
      script: FRONT,
      compatibilityDate: compatibility_date,
      compatibilityFlags: ['service_binding_extra_handlers'],
      serviceBindings: { SERVICE: name },
    },
    {
      ...builtWorker(),
      name,
      bindings: { ...vars, ...parseEnv(readFileSync(join(ROOT, '.dev.vars'), 'utf8')), ...Object.fromEntries(given) },
    },
  ],
}
// The heap of an isolate on the platform, beside its buffers: with more of it the engine would collect garbage later than it does there.
process.env['MINIFLARE_WORKERD_V8_FLAGS'] ??= '--max-old-space-size=100'
const miniflare = new Miniflare(convertV4MiniflareOptions(options))
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void miniflare.dispose().finally(() => process.exit(0)))
await miniflare.ready

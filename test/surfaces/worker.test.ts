import { createExecutionContext } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { describe, expect, it } from 'vitest'
import { app } from '../../src/app.ts'
import api from '../../src/index.ts'
import { Secrets } from '../../src/platform/secrets.ts'
import { shell } from '../../src/shell.ts'
import { isOfSurfaces, SURFACE_PATHS } from '../../src/surface-paths.ts'
import { mountSurfaces } from '../../src/surfaces.ts'
import Surfaces from '../../surfaces/worker.ts'
import { basic } from '../support/client.ts'
import { signUp } from '../support/tenants.ts'

const NAMES = ['API_SECRET_KEYS', 'CIEC_KEYS', 'CURSOR_KEYS', 'SESSION_KEYS', 'WEBHOOK_KEYS']
const context = createExecutionContext()

/** The Workers as they are deployed: the one of surfaces has no secret of its own. */
const surfaces = () => {
  const others = Object.fromEntries(Object.entries(env).filter(([name]) => !NAMES.includes(name)))
  return new Surfaces(context, { ...others, SECRETS: { all: async () => new Secrets(context, env).all() } } as never)
}
const deployed = () => ({ ...env, SURFACES: surfaces() as unknown as Fetcher })
const ask = async (path: string, init?: RequestInit) =>
  api.fetch(new Request(`https://api.example.com${path}`, init) as Request<unknown, IncomingRequestCfProperties>, deployed(), context)

const routesOf = ({ routes }: { routes: { method: string; path: string }[] }) =>
  routes.filter(({ method }) => method !== 'ALL').map(({ path }) => path)

describe('the Worker of surfaces', () => {
  it('has the routes of its paths, and the Worker that answers requests has the others', () => {
    const own = routesOf(mountSurfaces(shell())).filter((path) => path !== '/health')
    expect(own.filter((path) => !isOfSurfaces(path))).toEqual([])
    expect(routesOf(app).filter(isOfSurfaces)).toEqual([])
    expect(SURFACE_PATHS.filter((path) => !own.includes(path))).toEqual([])
  })

  it('answers who has a credential, and refuses who has none, over the Worker that answers requests', async () => {
    const headers = { Authorization: basic(await signUp()) }
    const found = await ask('/v1/reports', { headers })
    expect([found.status, found.headers.get('content-type')]).toEqual([200, 'application/json'])
    expect((await ask('/v1/reports')).status).toBe(401)
    expect(await (await ask('/v1/analytics/nothing', { headers })).json()).toMatchObject({ code: 'request.unknown_path' })
  })

  it('is what a misspelled path may mean', async () => {
    const answer = await ask('/v1/analytics-vat-position')
    expect(await answer.json()).toMatchObject({ detail: expect.stringContaining('/v1/analytics/vat-position') })
  })
})

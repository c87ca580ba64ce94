import { env } from 'cloudflare:workers'
import { expect } from 'vitest'
import { app } from '../../src/app/app.ts'
import { Problem } from '../../src/platform/http/problem.ts'
import { impliedRefusals, type Route, routesOf } from '../../tools/openapi/route-table.ts'
import { costOf } from './meter.ts'
import { record } from './recorder/record.ts'

export const ROUTES: readonly Route[] = routesOf(app)

export const nameOf = ({ method, path }: Route): string => `${method} ${path}`
export const isPublic = ({ clauses }: Route): boolean => clauses.some(({ operation }) => operation?.isPublic)
export const shapeOf = ({ clauses }: Route, target: 'json' | 'query' | 'param') =>
  clauses.find(({ input }) => input?.target === target)?.input?.schema.shape

/** Fills the parameters of a pattern in. */
export const pathOf = (pattern: string, given: Record<string, string>): string =>
  pattern.replace(/:(\w+)/g, (_, name: string) => given[name]!)

const PATTERNS = ROUTES.map((route) => ({
  route,
  pattern: new RegExp(`^${route.path.replace(/:\w+/g, '[^/]+')}$`),
  declared: [...impliedRefusals(route).keys(), ...route.clauses.flatMap(({ outputs = [] }) => outputs.map(({ status }) => status))],
})).sort((a, b) => Number(a.route.path.includes(':')) - Number(b.route.path.includes(':')))

/** The routes that a path can mean: those that spell it out, or else those with parameters. */
export const meant = (path: string): Route[] => {
  const [pathname] = path.split('?')
  const routes = PATTERNS.filter(({ pattern }) => pattern.test(pathname!)).map(({ route }) => route)
  const literal = routes.filter((route) => route.path === pathname)
  return literal.length > 0 ? literal : routes
}

export interface Answer {
  status: number
  headers: Headers
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: a test looks at what it expects.
  body: any
}

export interface Sent {
  authorization?: string | undefined
  headers?: Record<string, string>
  body?: BodyInit | undefined
  /** Bindings other than the test's own. */
  env?: Env
  /** What is broken on purpose may answer 500; nothing else ever does. */
  breaks?: boolean
}

/** How many requests were made and held against what every answer must be. */
export const made = { requests: 0 }

/** One request, and what holds for every answer of the service whatever was asked. */
export async function send(
  method: string,
  path: string,
  { authorization, headers = {}, body, breaks = false, ...more }: Sent = {},
): Promise<Answer> {
  const request = new Request(`https://api.test${path}`, {
    method,
    redirect: 'manual',
    headers: { ...headers, ...(authorization === undefined ? {} : { authorization }) },
    ...(body === undefined ? {} : { body }),
  })
  const response = await app.fetch(request, more.env ?? env)
  // Also of a PDF, whose bytes text() warns about.
  const text = new TextDecoder().decode(await response.arrayBuffer())
  const answer: Answer = { status: response.status, headers: response.headers, text, body: undefined }
  made.requests++
  const what = `${method} ${path.slice(0, 200)} → ${answer.status} ${text.slice(0, 300)}`
  if (!breaks) expect(answer.status, what).toBeLessThan(500)
  holdsEnvelope(answer, what)
  if (more.env === undefined && !isUnlimited(path)) holdsLimits(answer, what)
  if (response.headers.get('content-type')?.startsWith('application/json') && text !== '') answer.body = JSON.parse(text)
  if (answer.status >= 400 && method !== 'HEAD') holdsProblem(answer, what)
  const route = meant(path).find((one) => one.method === method)
  const found = PATTERNS.find((one) => one.route === route)
  if (found && more.env === undefined && !breaks) expect(found.declared, `undeclared: ${what}`).toContain(answer.status)
  if (!breaks && (more.env === undefined || answer.status < 300)) await record(route, body, answer, text)
  return answer
}

const SECURITY = {
  'strict-transport-security': /max-age=\d{7,}/,
  'x-content-type-options': /^nosniff$/,
  'x-frame-options': /^DENY$/,
  'referrer-policy': /^no-referrer$/,
  'cross-origin-resource-policy': /^same-origin$/,
  'content-security-policy': /default-src 'none'/,
  'cache-control': /./,
  'x-request-id': /^req_[0-9a-f]{32}$/,
}

function holdsEnvelope({ headers }: Answer, what: string): void {
  // Each expectation costs as much as a small request, so that they are made of what is wrong.
  for (const [name, value] of Object.entries(SECURITY))
    if (!value.test(headers.get(name) ?? '')) expect.fail(`${name} of ${what} is ${headers.get(name)}`)
}

/** What counts against no limit: what costs nothing, and what the fetcher has signed. */
const isUnlimited = (path: string): boolean => path.startsWith('/health') || path.startsWith('/api/v1') || path.startsWith('/fetcher/')

function holdsLimits({ headers }: Answer, what: string): void {
  const [limit = '', policy = ''] = [headers.get('ratelimit'), headers.get('ratelimit-policy')].map(String)
  const [, name] = /^"(\w+)";r=\d+;t=\d+$/.exec(limit) ?? []
  if (name === undefined || !/^"\w+";q=\d+;w=\d+(, "\w+";q=\d+;w=\d+)*$/.test(policy) || !policy.includes(`"${name}";`))
    expect.fail(`the limits of ${what} are ${limit} of ${policy}`)
}

/** How zod's own messages begin. */
const ZODS = /^(Invalid (input|option|string|key|element|number)|Too (small|big)|Unrecognized key|Expected)/

function holdsProblem({ status, headers, body, text }: Answer, what: string): void {
  expect(Problem.safeParse(body).error, what).toBeUndefined()
  // What is answered again names the request that it was first answered to.
  if (!headers.has('idempotency-replayed')) expect(body.request_id, what).toBe(headers.get('x-request-id'))
  expect(typeof body.detail, what).toBe(status === 429 ? 'object' : 'string')
  expect(body.code, what).toMatch(/^[a-z_]+(\.[a-z_]+)?$/)
  // Nobody reads more, whatever was sent.
  expect([text.length < 16_384, (body.errors ?? []).length <= 20], what).toEqual([true, true])
  expect(text, what).not.toMatch(/SQLITE|D1_|drizzle|select |insert |\.ts:\d|\bat \w+ \(/i)
  if (status === 422) {
    expect(body.errors?.length, what).toBeGreaterThan(0)
    for (const { message } of body.errors) expect(message, what).not.toMatch(ZODS)
  }
  if (status === 401) expect(headers.get('www-authenticate'), what).toMatch(/^Basic /)
  if (status === 429) expect(Number(headers.get('retry-after')), what).toBe(body.detail.retry_after_seconds)
}

/** All that an answer says but for what tells one request from another. */
export const essence = ({ status, headers, text }: Answer): string =>
  JSON.stringify([
    status,
    text.replace(/req_[0-9a-f]{32}/g, 'req'),
    [...headers].filter(([name]) => name !== 'x-request-id' && name !== 'date' && name !== 'ratelimit').sort(),
  ])

/** A request with the number of calls to D1 that it took. */
export async function metered(method: string, path: string, sent: Sent = {}): Promise<{ answer: Answer; d1: number }> {
  const { cost, result } = await costOf(env.LEDGER_0, env.FILES, () => send(method, path, sent))
  return { answer: result, d1: cost.d1_calls }
}

export const json = (value: unknown) => ({ headers: { 'content-type': 'application/json' }, body: JSON.stringify(value) })

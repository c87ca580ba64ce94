import { exports } from 'cloudflare:workers'
import * as z from 'zod'
import { app } from '../../src/app/app.ts'
import { CfdiPage, ListedCfdi } from '../../src/cfdi/search/contract.ts'
import { Problem } from '../../src/platform/http/problem.ts'
import { impliedRefusals, type Route, routesOf } from '../../tools/openapi/route-table.ts'
import { record } from './recorder/record.ts'

/** A credential, or what stands for one in a test of authentication. */
export interface Caller {
  api_key: string
  api_secret: string
}

export interface Reply<Body = unknown> {
  status: number
  headers: Headers
  body: Body
}

interface Declared {
  route: Route
  pattern: RegExp
  method: string
  name: string
  replies: Map<number, z.ZodType | undefined>
}

const declared: Declared[] = routesOf(app)
  .map((route) => {
    const replies = new Map<number, z.ZodType | undefined>([...impliedRefusals(route).keys()].map((status) => [status, Problem]))
    for (const { status, schema } of route.clauses.flatMap(({ outputs }) => outputs ?? []))
      replies.set(status, status >= 400 ? Problem : schema)
    return {
      route,
      pattern: new RegExp(`^${route.path.replace(/:\w+/g, '[^/]+')}$`),
      method: route.method,
      name: `${route.method} ${route.path}`,
      replies,
    }
  })
  // Literal paths come first, as in the application.
  .sort((a, b) => Number(a.name.includes(':')) - Number(b.name.includes(':')))

const sorted = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(sorted)
    : value && typeof value === 'object'
      ? Object.fromEntries(
          Object.entries(value)
            .sort(([a], [b]) => (a < b ? -1 : 1))
            .map(([key, inner]) => [key, sorted(inner)]),
        )
      : value

export const basic = ({ api_key, api_secret }: Caller): string => `Basic ${btoa(`${api_key}:${api_secret}`)}`

/** A page of CFDIs of which the request names the members. The document has the type of whole ones, which typed clients use. */
const CfdiPageOfFields = CfdiPage.extend({ data: z.array(ListedCfdi.partial()) })
const isOfFields = (path: string): boolean => path.startsWith('/v1/cfdi?') && new URLSearchParams(path.split('?')[1]).has('fields')

/** Statuses that any path can answer with and that no route declares for itself. */
const EVERYWHERE = [404, 405]

/** A request as a customer makes it. Its reply is held against what the route declares: status, shape, and nothing beyond it. */
export async function request(
  method: string,
  path: string,
  init: { headers?: Record<string, string>; body?: BodyInit } = {},
): Promise<Reply> {
  const response = await exports.default.fetch(new Request(`https://api.test${path}`, { method, redirect: 'manual', ...init }))
  // A PDF is decoded like any other answer. text() would warn about it.
  const text = new TextDecoder().decode(await response.arrayBuffer())
  const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false
  const body: unknown = isJson ? JSON.parse(text) : text
  const pathname = path.split('?')[0]!
  const route = declared.find((one) => one.method === method && one.pattern.test(pathname))
  if (route && !route.replies.has(response.status) && response.status !== 500)
    throw new Error(`${route.name} answered ${response.status}, which it does not declare: ${text.slice(0, 500)}`)
  if (!route && !EVERYWHERE.includes(response.status) && response.status !== 308)
    throw new Error(`${method} ${path} is no route and answered ${response.status}.`)
  const schema = response.status >= 400 ? Problem : isOfFields(path) ? CfdiPageOfFields : route?.replies.get(response.status)
  if (isJson && schema) {
    const notified = schema.safeParse(body)
    if (!notified.success)
      throw new Error(
        `${route?.name ?? path} answered ${response.status} in another shape: ${notified.error.message}\n${text.slice(0, 500)}`,
      )
    if (JSON.stringify(sorted(notified.data)) !== JSON.stringify(sorted(body)))
      throw new Error(`${route?.name ?? path} says more than it declares: ${text.slice(0, 500)}`)
  }
  await record(route?.route, init.body, response, text)
  return { status: response.status, headers: response.headers, body }
}

/** A request of a credential's, with a JSON body where there is one. */
// biome-ignore lint/suspicious/noExplicitAny: a test looks at what it expects; the shape has been checked against the route.
export const api = async (caller: Caller, method: string, path: string, json?: unknown): Promise<Reply<any>> =>
  request(method, path, {
    headers: { authorization: basic(caller), ...(json === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(json === undefined ? {} : { body: JSON.stringify(json) }),
  })

/** The members that a 422 finds fault with, sorted. */
export const pathsOf = (body: { errors: { path: string }[] }): string[] => body.errors.map(({ path }) => path).sort()

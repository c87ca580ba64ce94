import type { Context } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import * as z from 'zod'
import { Failure, type Fault, type Kind, Unavailable } from '../../failures.ts'
import type { App } from '../context.ts'
import { errorMessage, stackOf } from '../log.ts'

/** Every error of the API (decisions.md 3). */
export const Problem = z
  .strictObject({
    detail: z
      .union([z.string(), z.strictObject({ message: z.string(), retry_after_seconds: z.int() })])
      .meta({ description: 'What went wrong and what to do about it. An object on 429 only.' }),
    code: z.string().meta({ description: 'Stable and machine readable, such as `extractor.not_found`.' }),
    errors: z
      .array(z.strictObject({ path: z.string(), message: z.string() }))
      .optional()
      .meta({ description: 'On 422: every fault of the body or query.' }),
    checkout_url: z.string().optional(),
    resource_id: z.string().optional().meta({ description: 'What a request with the same Idempotency-Key made.' }),
    request_id: z.string(),
  })
  .meta({ id: 'Problem' })

/** The request does not have the documented shape. */
export class InvalidInput extends Error {
  readonly target: 'json' | 'query' | 'param'
  readonly issues: readonly z.core.$ZodIssue[]

  constructor(target: 'json' | 'query' | 'param', issues: readonly z.core.$ZodIssue[]) {
    super('The request does not have the documented shape.')
    this.target = target
    this.issues = issues
  }
}

export const STATUS = {
  malformed: 400,
  unauthenticated: 401,
  payment_required: 402,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  contention: 409,
  too_large: 413,
  unsupported_media_type: 415,
  invalid: 422,
  too_many_requests: 429,
} as const satisfies Record<Kind, ContentfulStatusCode>

const pathOf = (path: readonly PropertyKey[]): string =>
  path.reduce<string>((text, part) => (typeof part === 'number' ? `${text}[${part}]` : text ? `${text}.${String(part)}` : String(part)), '')

/** An issue names an unknown member in a list; each becomes a fault of its own. */
const faultsOf = (issue: z.core.$ZodIssue, what: string): Fault[] =>
  issue.code === 'unrecognized_keys'
    ? issue.keys.map((key) => ({ path: pathOf([...issue.path, key.slice(0, 64)]), message: `Unknown ${what}.` }))
    : [{ path: pathOf(issue.path), message: issue.message }]

const WHAT = { json: 'member', query: 'query parameter', param: 'path parameter' } as const

function asFailure(error: Error): Failure | undefined {
  if (error instanceof Failure) return error
  if (!(error instanceof InvalidInput)) return undefined
  const errors = error.issues.flatMap((issue) => faultsOf(issue, WHAT[error.target]))
  const [first] = errors
  const says = first ? `${first.path || 'body'}: ${first.message}` : error.message
  return error.target === 'param'
    ? new Failure('malformed', 'request.malformed_id', says)
    : new Failure('invalid', 'request.invalid', says, { errors })
}

/** The one place where a failure becomes an answer. */
export function problem(error: Error, c: Context<App>): Response {
  const request_id = c.var.requestId
  const failure = asFailure(error)
  if (failure) {
    const { retry_after_seconds, errors, checkout_url, resource_id, quota, allow } = failure.extra
    if (allow) c.header('Allow', allow.join(', '))
    if (retry_after_seconds !== undefined) c.header('Retry-After', String(retry_after_seconds))
    if (quota) c.header('RateLimit-Policy', `"${quota.name}";q=${quota.requests};w=${quota.seconds}`)
    if (failure.kind === 'unauthenticated') c.header('WWW-Authenticate', 'Basic realm="fiscal-data-service", charset="UTF-8"')
    const detail =
      failure.kind === 'too_many_requests' ? { message: failure.message, retry_after_seconds: retry_after_seconds ?? 1 } : failure.message
    return c.json(
      {
        detail,
        code: failure.code,
        ...(errors && { errors }),
        ...(checkout_url && { checkout_url }),
        ...(resource_id && { resource_id }),
        request_id,
      },
      STATUS[failure.kind],
    )
  }
  if (error instanceof Unavailable) {
    c.header('Retry-After', '30')
    return c.json({ detail: 'The tax authority does not answer. Try again.', code: `authority.${error.error_class}`, request_id }, 503)
  }
  console.error(JSON.stringify({ level: 'error', request_id, error: errorMessage(error), stack: stackOf(error) }))
  return c.json({ detail: 'Something went wrong on our side.', code: 'internal', request_id }, 500)
}

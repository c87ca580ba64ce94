import type { Context } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import * as z from 'zod'
import type { App } from '../context.ts'
import { Failure, type Fault, invalid, type Kind, sentenceOf, shownFault, Unavailable } from '../failures.ts'
import { log } from '../log.ts'
import { UnusableSettings } from '../settings.ts'
import { InvalidInput } from './validation/faults.ts'

/** Every error of the API. */
export const Problem = z
  .strictObject({
    detail: z
      .union([z.string(), z.strictObject({ message: z.string(), retry_after_seconds: z.int() })])
      .meta({ description: 'What went wrong and what to do about it. An object on 429, text otherwise.' }),
    code: z.string().meta({ description: 'A stable, machine-readable code, such as `extractor.not_found`.' }),
    errors: z
      .array(z.strictObject({ path: z.string(), message: z.string() }))
      .optional()
      .meta({
        description:
          'On 422: the faults in the form of the query, or else of the body, the first twenty of more; `detail` says how many are left out. Long paths ' +
          'and messages are cut, with an ellipsis. The service checks against stored data afterwards, for example for an identifier that does not ' +
          'exist. Such a fault may appear alone.',
      }),
    checkout_url: z.string().optional().meta({ description: 'Where the plan or seat that the request needs can be bought.' }),
    resource_id: z
      .string()
      .optional()
      .meta({ description: 'The resource that an earlier request with the same Idempotency-Key made or changed.' }),
    first_answer: z
      .strictObject({
        status: z.int(),
        bytes: z.int().meta({ description: 'Bytes of its body.' }),
        sha256: z.string().meta({ description: 'The SHA-256 of its body, in lower hexadecimal.' }),
      })
      .optional()
      .meta({
        description: 'With the code `idempotency.done`: what the earlier request was answered, when that answer was not kept.',
      }),
    fiscal_entity_id: z
      .string()
      .optional()
      .meta({ description: 'With the code `fiscal_entity.already_linked`: the connection to the RFC that the organization has.' }),
    open_deadline: z.string().optional().meta({ description: 'With the code `would_notify`: the `open_deadline` of the notification.' }),
    request_id: z.string().meta({
      description: 'The id of the request. In an answer that is repeated under an Idempotency-Key it is that of the first request.',
    }),
  })
  .meta({ id: 'Problem' })

export const STATUS = {
  malformed: 400,
  unauthenticated: 401,
  payment_required: 402,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  contention: 409,
  no_room: 409,
  too_large: 413,
  unsupported_media_type: 415,
  invalid: 422,
  range: 416,
  too_many_requests: 429,
} as const satisfies Record<Kind, ContentfulStatusCode>

const RETRY_AFTER_SECONDS = '30'

/** The authority does not say until when an account is locked. Each attempt is another login, which may keep it locked. */
const LOCKED_SECONDS = '3600'
const LOCKED = [
  'account_locked',
  'The tax authority has locked the account of this RFC, so it does not say whether the login is right, nor until when. Have the taxpayer ' +
    'unlock the account, or send the login again after an hour at the earliest: each attempt is another login.',
] as const

/** `hint` says what may be wrong with the path. */
export const unknownPath = (hint = 'GET /docs lists all paths.'): Failure =>
  new Failure('not_found', 'request.unknown_path', `There is nothing at this path. ${hint}`)

export const wrongMethod = (methods: readonly string[]): Failure => {
  const allow = methods.filter((method) => method !== 'HEAD').sort()
  return new Failure('method_not_allowed', 'request.method_not_allowed', `This path allows ${allow.join(', ')}.`, { allow })
}

function asFailure(error: Error): Failure | undefined {
  if (error instanceof Failure) return error
  // Hono's validator throws an HTTPException of its own copy of Hono.
  if ('getResponse' in error) return new Failure('malformed', 'request.malformed_json', 'The body is not valid JSON in UTF-8.')
  if (!(error instanceof InvalidInput)) return undefined
  const [first = { path: '', message: error.message }, ...others] = error.faults
  return error.target === 'param'
    ? new Failure('malformed', 'request.malformed_id', sentenceOf(shownFault(first)))
    : invalid('request.invalid', [first, ...others], error.unlisted)
}

/** A problem without the id of its request. */
type Said = Omit<z.infer<typeof Problem>, 'request_id'>

/** `most` is how many faults are named at the most. */
function saidOf({ kind, code, message, extra }: Failure, most = Number.POSITIVE_INFINITY): Said {
  const {
    retry_after_seconds,
    errors: all = [],
    left_out = 0,
    checkout_url,
    resource_id,
    first_answer,
    fiscal_entity_id,
    open_deadline,
  } = extra
  const errors = all.slice(0, most)
  const text = message + furtherFaults(errors, all.length - errors.length + left_out)
  const detail = kind === 'too_many_requests' ? { message, retry_after_seconds: retry_after_seconds ?? 1 } : text
  return {
    ...{ detail, code },
    ...(errors.length > 0 && { errors }),
    ...(checkout_url && { checkout_url }),
    ...(resource_id && { resource_id }),
    ...(first_answer && { first_answer }),
    ...(fiscal_entity_id && { fiscal_entity_id }),
    ...(open_deadline && { open_deadline }),
  }
}

/** The sentence, after a space, on the faults beside the first; empty without any. */
function furtherFaults(errors: readonly Fault[], left_out: number): string {
  const more = errors.length - 1
  if (left_out > 0) return ` \`errors\` names ${more} more and leaves out ${left_out}.`
  return more > 0 ? ` \`errors\` names ${more} more.` : ''
}

function saidOfUnavailable({ isLocked, error_class }: Unavailable): Said {
  const [code, detail] = isLocked ? LOCKED : [error_class, 'The tax authority does not answer. Try again later.']
  return { detail, code: `authority.${code}` }
}

/** The most faults that are named of each part of a request that makes several. */
const MOST_OF_EACH = 5

/** The answer that a request would have got that ended with this error, where one request makes several; null when nobody refused it. */
export function refusalOf(error: unknown): (Said & { status: number }) | null {
  const failure = error instanceof Error ? asFailure(error) : undefined
  if (failure) return { status: STATUS[failure.kind], ...saidOf(failure, MOST_OF_EACH) }
  return error instanceof Unavailable ? { status: 503, ...saidOfUnavailable(error) } : null
}

/** Turns an error into its answer. No other place knows statuses. */
export function problem(error: Error, c: Context<App>): Response {
  const request_id = c.var.requestId
  const failure = asFailure(error)
  if (failure) return refusal(failure, c)
  if (error instanceof Unavailable) {
    c.header('Retry-After', error.isLocked ? LOCKED_SECONDS : RETRY_AFTER_SECONDS)
    return c.json({ ...saidOfUnavailable(error), request_id }, 503)
  }
  if (error instanceof UnusableSettings) {
    log.error(c.var, 'The settings of this deployment cannot be used.', { faults: error.faults })
    c.header('Retry-After', RETRY_AFTER_SECONDS)
    const detail = 'The service is not configured completely. Its operator finds what is missing at GET /health.'
    return c.json({ detail, code: 'service.unusable_settings', request_id }, 503)
  }
  log.error(c.var, 'A request failed.', {}, error)
  return c.json({ detail: 'Something went wrong on our side.', code: 'internal', request_id }, 500)
}

function refusal(failure: Failure, c: Context<App>): Response {
  const { kind, extra } = failure
  const { retry_after_seconds, allow, size } = extra
  if (allow) c.header('Allow', allow.join(', '))
  if (size !== undefined) c.header('Content-Range', `bytes */${size}`)
  if (retry_after_seconds !== undefined) c.header('Retry-After', String(retry_after_seconds))
  // A browser would ask for a password in a window of its own, and send it with every later request.
  const scheme = c.req.header('sec-fetch-site') === undefined ? 'Basic' : 'Session'
  if (kind === 'unauthenticated') c.header('WWW-Authenticate', `${scheme} realm="fiscal-data-service", charset="UTF-8"`)
  return c.json({ ...saidOf(failure), request_id: c.var.requestId }, STATUS[kind])
}

import type { Context, MiddlewareHandler } from 'hono'
import { FETCHED } from '../../downloads/awaited.ts'
import type { App } from '../../platform/context.ts'
import { Failure } from '../../platform/failures.ts'
import { MOST_BODY_BYTES } from '../../platform/http/body.ts'
import { Hono } from '../../platform/http/hono.ts'
import { limitPublic, limitUnsigned } from '../../platform/http/limits.ts'
import { body, openOperation, params, refusesAny, returns, storedUpload } from '../../platform/http/operation.ts'
import { unknownPath } from '../../platform/http/problem.ts'
import { Completion, DocumentPath, Empty, FailureReport, LeaseAnswer, LeasePath, LeaseRequest, PackagePath, Renewed } from './contract.ts'
import { completeLease, failLease, keepPackage, keepUpload, leaseJob, renewLease } from './leases.ts'
import { admitOnce, isSigned } from './signature.ts'

const TAG = 'Jobs'
const MAX_DOCUMENT = 25 * 1024 * 1024

const UNSIGNED = 'The signature is absent or wrong, or its timestamp is more than five minutes away.'
const ABSENT = 'This deployment has no fetcher: FETCHER_KEYS is not set.'
const LOST = 'Somebody else has the lease, or the job is needed no longer (`fetcher.lease_lost`). Drop what it was for.'
const REPEATED =
  'A lease was asked for with this signature before (`fetcher.repeated`). Sign a request with another nonce, or another timestamp.'
const ALTERED = 'The body is not the one of Fetcher-Digest.'

/** Admits requests that the fetcher signed. Throws Failure 404 where there is none, 401, and 429 when an address sends too many others. */
const signed: MiddlewareHandler<App> = async (c, next) => {
  const { req } = c
  const { fetcherKeys } = c.var.system.settings
  if (fetcherKeys === null) {
    await limitPublic(c)
    throw unknownPath()
  }
  const { pathname, search } = new URL(req.url)
  const request = {
    ...{ method: req.method, path: pathname + search },
    ...{ timestamp: req.header('fetcher-timestamp') ?? '', digest: req.header('fetcher-digest') ?? '' },
  }
  await limitUnsigned(c, async () => {
    if (!(await isSigned(fetcherKeys, request, req.header('fetcher-signature') ?? '', new Date())))
      throw new Failure('unauthenticated', 'fetcher.signature', 'The signature of the fetcher is absent, wrong or older than 5 minutes.')
  })
  return next()
}

/** Admits bodies that are those of the digest that was signed. Throws Failure 400. */
const intact: MiddlewareHandler<App> = async (c, next) => {
  const text = new TextEncoder().encode((await c.req.bodyCache.text) ?? '')
  const sha256 = c.var.stored?.sha256 ?? new Uint8Array(await crypto.subtle.digest('SHA-256', text)).toHex()
  if (sha256 !== c.req.header('fetcher-digest'))
    throw new Failure('malformed', 'fetcher.digest', 'The body is not the one of Fetcher-Digest.')
  return next()
}

/**
 * Admits a signature once, so that nobody who records a request gets another CIEC for it. Other requests are made under a lease, and change
 * nothing when they are repeated. Throws Failure 409 fetcher.repeated.
 */
const unrepeated: MiddlewareHandler<App> = async ({ req, var: { system } }, next) => {
  await admitOnce(system, req.header('fetcher-signature')!, req.header('fetcher-timestamp')!)
  return next()
}

/** Notes the upload of a request under a name of its lease. Throws what `keep` throws. */
async function keepStored(c: Context<App>, lease_id: string, name: string, keep = keepUpload): Promise<Response> {
  const { key, size, sha256 } = c.var.stored
  c.var.stored.isKept = true
  try {
    await keep(c.var.system, lease_id, name, { key, size, sha256 })
  } catch (error) {
    // After any other error it may be noted.
    c.var.stored.isKept = !(error instanceof Failure)
    throw error
  }
  return c.body(null, 204)
}

export const fetcherRoutes = new Hono<App>()
  .post(
    '/leases',
    openOperation(
      'leaseJob',
      TAG,
      'Lease a job',
      'Answers with a job and the CIEC that it needs. Of an RFC only one job is leased at a time. A lease whose answer is lost runs out, and the job is offered again. ' +
        'A signature is answered once, as long as its timestamp is good: send a new `nonce` with each request, without which only one request a second has a signature of its own.',
    ),
    signed,
    body(LeaseRequest),
    intact,
    unrepeated,
    returns(200, LeaseAnswer),
    refusesAny({ 400: ALTERED, 401: UNSIGNED, 404: ABSENT, 409: REPEATED }),
    async (c) => c.json({ lease: await leaseJob(c.var.system) }),
  )
  .post(
    '/leases/:lease_id/renew',
    openOperation('renewLease', TAG, 'Renew a lease', 'The lease lasts for another ten minutes from now.'),
    signed,
    params(LeasePath),
    body(Empty),
    intact,
    returns(200, Renewed),
    refusesAny({ 400: ALTERED, 401: UNSIGNED, 404: ABSENT, 409: LOST }),
    async (c) => c.json(await renewLease(c.var.system, c.req.valid('param').lease_id)),
  )
  .put(
    '/leases/:lease_id/packages/:kind/:n',
    openOperation(
      'uploadPackage',
      TAG,
      'Upload a package',
      'A ZIP as the tax authority packs it: `metadata` holds a TXT file whose columns are separated by `~`, `xml` holds `{UUID}.xml` entries. Packages of a kind are numbered from 0, without a gap. A package without what its kind holds leaves the month partial, and so does metadata with rows of another month or source, which are rejected (`metadata.outside_period`, `metadata.other_source`), without a column that a list must have (`metadata.missing_column`: Uuid, RfcEmisor, RfcReceptor, FechaEmision, Estatus), or beside a file that is none (`metadata.no_rows`). The same kind and number again replaces what was uploaded before.',
    ),
    signed,
    params(PackagePath),
    storedUpload(['application/zip'], MOST_BODY_BYTES, 'The ZIP, of at most 100 MB.', FETCHED, () => true),
    intact,
    returns(204, undefined, 'The package is stored.'),
    refusesAny({
      ...{ 400: ALTERED, 401: UNSIGNED, 404: ABSENT, 409: LOST },
      422: 'The body is empty, no ZIP, or not all of one (`fetcher.package`).',
    }),
    async (c) => {
      const { lease_id, kind, n } = c.req.valid('param')
      return keepStored(c, lease_id, `${kind}-${Number(n)}`, keepPackage)
    },
  )
  .put(
    '/leases/:lease_id/documents/:n',
    openOperation(
      'uploadDocument',
      TAG,
      'Upload a document',
      'The document as the portal delivers it, byte for byte, whatever its type: completing the lease says what it is. Numbers are free, from 0 to 999. The same number again replaces what was uploaded before.',
    ),
    signed,
    params(DocumentPath),
    storedUpload(['application/octet-stream'], MAX_DOCUMENT, 'The document, of at most 25 MiB.', FETCHED, () => true),
    intact,
    returns(204, undefined, 'The document is stored.'),
    refusesAny({ 400: ALTERED, 401: UNSIGNED, 404: ABSENT, 409: LOST, 422: 'The body is empty.' }),
    async (c) => {
      const { lease_id, n } = c.req.valid('param')
      return keepStored(c, lease_id, `document-${Number(n)}`)
    },
  )
  .post(
    '/leases/:lease_id/complete',
    openOperation(
      'completeLease',
      TAG,
      'Complete a job',
      'Says what was uploaded: of a month how many packages, of a document source what each document is. The job runs with that, and its lease ends. A repetition changes nothing; that of a login is answered 409, because its lease has ended.',
    ),
    signed,
    params(LeasePath),
    body(Completion),
    intact,
    returns(204, undefined, 'The job runs with what was uploaded.'),
    refusesAny({
      ...{ 400: ALTERED, 401: UNSIGNED, 404: ABSENT },
      409: 'The lease is lost (`fetcher.lease_lost`), something else was uploaded than the request says (`fetcher.incomplete`), or PDFs cannot be read now (`fetcher.unread`): send the request again.',
      422: 'The request completes another task than that of the lease (`fetcher.task`), packages of XML come without metadata although the month is whole (`fetcher.metadata`), or what it says of documents cannot be, such as one of another RFC (`fetcher.documents`). `errors` lists the faults.',
    }),
    async (c) => {
      await completeLease(c.var.system, c.req.valid('param').lease_id, c.req.valid('json'))
      return c.body(null, 204)
    },
  )
  .post(
    '/leases/:lease_id/fail',
    openOperation(
      'failLease',
      TAG,
      'Give a job back',
      'Says why it could not be done. A repetition changes nothing; that of a login is answered 409, because its lease has ended.',
    ),
    signed,
    params(LeasePath),
    body(FailureReport),
    intact,
    returns(204, undefined, 'The lease is over.'),
    refusesAny({ 400: ALTERED, 401: UNSIGNED, 404: ABSENT, 409: LOST }),
    async (c) => {
      await failLease(c.var.system, c.req.valid('param').lease_id, c.req.valid('json'))
      return c.body(null, 204)
    },
  )

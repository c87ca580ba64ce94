import type { App } from '../platform/context.ts'
import { Hono } from '../platform/http/hono.ts'
import { body, confirmed, idempotent, operation, params, query, refuses, refusesAny, returns } from '../platform/http/operation.ts'
import { refusalOf } from '../platform/http/problem.ts'
import { pageOf } from '../platform/http/shapes.ts'
import { parse } from '../platform/http/validation/faults.ts'
import { memberHint } from '../platform/http/validation/messages.ts'
import { FiscalEntityPath } from '../taxpayers/contract.ts'
import { connectRfcs, type ReadDraft } from './batch.ts'
import { changeFiscalEntity, connectRfc } from './connect.ts'
import { changeRfc, getFiscalEntity, listFiscalEntities, listRfcs, unlinkRfc } from './connections.ts'
import {
  BillingRfc,
  BillingRfcChanges,
  BillingRfcPath,
  BillingRfcQuery,
  ELSEWHERE,
  FiscalEntity,
  FiscalEntityBatch,
  FiscalEntityBatchAnswer,
  FiscalEntityChanges,
  FiscalEntityDraft,
  FiscalEntityQuery,
} from './contract.ts'
import { AttentionQuery, PortfolioAttention, SyncQuery, SyncStatus } from './sync/contract.ts'
import { getSync, listAttention, listSync } from './sync/sync.ts'

const LOGIN_REFUSED =
  'With a CIEC or an e.firma: an invoice is unpaid after its grace period, the free trial has ended or covers no other RFC, or every seat is taken (with checkout_url).'
const TOO_MANY_CIECS =
  'Three CIECs, or three e.firmas, that your organization sent for this RFC within 15 minutes were refused (`fiscal_entity.ciec_attempts`); so is an e.firma that its password does not open. Or ' +
  'too many CIECs were refused within a day that came from organizations without an accepted one for this RFC, yours among them: ten in all, or six from one network. The first CIEC of another organization is ' +
  'admitted up to twenty in all, and an e.firma is never held up by CIECs or by others: send it instead. The tax authority was not asked about this one. Accepted ones do not count and do not clear the refused ones. ' +
  'Retry-After states when to try again.'
const NO_ANSWER =
  'With a CIEC or an e.firma: the tax authority does not answer, or has locked the account of the RFC (`authority.account_locked`, with a Retry-After of an hour: each attempt is another login). Nothing was stored.'
const ABSENT = 'The organization has no connection to this fiscal entity.'

/** Reads an RFC of a batch as a request for it alone is read. */
function draftOf(sent: unknown): ReadDraft {
  try {
    return { draft: parse('json', FiscalEntityDraft, sent, memberHint) }
  } catch (error) {
    return { error }
  }
}

export const entityRoutes = new Hono<App>()
  .get(
    '/',
    operation('listFiscalEntities', 'Fiscal entities', 'List the connections of the organization'),
    query(FiscalEntityQuery),
    returns(200, pageOf(FiscalEntity)),
    async (c) => c.json(await listFiscalEntities(c.var.ctx, c.req.valid('query'))),
  )
  .post(
    '/',
    operation(
      'connectFiscalEntity',
      'Fiscal entities',
      'Connect an RFC',
      'With a CIEC or an e.firma that the tax authority accepts, the connection is active and its extractors run; with both, each must be accepted. Without them it is a draft, which downloads nothing and costs nothing. Where the tax authority cannot be asked about a CIEC, it is stored, a connection with nothing else stays a draft, and `warnings` say what is missing. A connection lives by its own CIEC or e.firma: when another one of the same kind is accepted for the RFC, or one is refused, the authority is asked about this one again, and until it has answered nothing is downloaded with it. When it is refused, the connection goes on with the other one that it has, or its status becomes `invalid_ciec`. An e.firma is checked before the authority is asked; each 422 names its reason, such as `efirma.wrong_password` or `efirma.expired`.',
    ),
    confirmed(),
    body(FiscalEntityDraft),
    returns(201, FiscalEntity),
    refuses(402, LOGIN_REFUSED),
    refuses(
      409,
      'The organization is already connected to this RFC, another RFC has the external_id (`fiscal_entity.external_id_taken`), other requests keep changing the connection, or without a CIEC and e.firma: the plan allows no further drafts (`fiscal_entity.plan_limit`).',
    ),
    refusesAny({ 429: TOO_MANY_CIECS, 503: NO_ANSWER }),
    idempotent(),
    async (c) => c.json(await connectRfc(c.var.ctx, c.req.valid('json')), 201),
  )
  .post(
    '/batch',
    operation(
      'connectFiscalEntities',
      'Fiscal entities',
      'Connect up to 100 RFCs',
      'Connects the RFCs in their order, each with the checks, seats and refusals of `POST /v1/fiscal-entities`, and answers with a result for ' +
        'each: one that is refused does not keep the others from being connected. RFCs with a CIEC or an e.firma take time, because the tax ' +
        'authority is asked about each. What does not fit into the request, some 25 seconds and 400,000 iterations of the encryption of keys, is `not_attempted`. Send the batch again, with ' +
        'another Idempotency-Key, until nothing is: an RFC that is connected already is answered with its connection, of which nothing is changed, and ' +
        '`warnings` name what was sent and not applied. A request that broke off ' +
        'can be repeated in the same way. Each `refusal` names five faults at the most. Where an answer was too large to be kept under its ' +
        'Idempotency-Key, the repetition attempts nothing and is answered from what there is: RFCs that are connected by then are ' +
        '`already_connected`, those that could not be read are `refused`, and all others are `not_attempted`.',
    ),
    confirmed(),
    body(FiscalEntityBatch),
    returns(200, FiscalEntityBatchAnswer),
    idempotent({ canAnswerAgain: true }),
    async (c) => c.json(await connectRfcs(c.var.ctx, c.req.valid('json').fiscal_entities.map(draftOf), refusalOf)),
  )
  .get(
    '/:fiscal_entity_id',
    operation('getFiscalEntity', 'Fiscal entities', 'Get a connection'),
    params(FiscalEntityPath),
    returns(200, FiscalEntity),
    refuses(404, ABSENT),
    async (c) => c.json(await getFiscalEntity(c.var.ctx, c.req.valid('param').fiscal_entity_id)),
  )
  .patch(
    '/:fiscal_entity_id',
    operation(
      'updateFiscalEntity',
      'Fiscal entities',
      'Update a connection',
      'A CIEC or e.firma that the tax authority accepts activates a connection whose status is draft or invalid_ciec. A stored login that is not in the request stays, in every status; only a login that the authority refused is erased when another one is accepted. If the authority cannot be asked about a CIEC, the service stores the CIEC and changes no status. `ciec: null` erases the stored CIEC and `efirma: null` the stored e.firma in any status, whatever is owed. If neither the service nor a fetcher can log in with the remaining logins, an active connection becomes `invalid_ciec` with `invalid_reason` `withdrawn`. No event is sent. A draft stays a draft.',
    ),
    params(FiscalEntityPath),
    body(FiscalEntityChanges, ELSEWHERE),
    returns(200, FiscalEntity),
    refuses(402, LOGIN_REFUSED),
    refuses(404, ABSENT),
    refuses(
      409,
      'Another RFC has the external_id (`fiscal_entity.external_id_taken`), the taxpayer did not agree to these data sources with a connect link (`consent.sources`), or other requests keep changing the connection.',
    ),
    refusesAny({ 429: TOO_MANY_CIECS, 503: NO_ANSWER }),
    async (c) => c.json(await changeFiscalEntity(c.var.ctx, c.req.valid('param').fiscal_entity_id, c.req.valid('json'))),
  )
  .delete(
    '/:fiscal_entity_id',
    operation(
      'unlinkFiscalEntity',
      'Fiscal entities',
      'Unlink an RFC',
      'The stored CIEC and e.firma are erased, and events about the RFC are hidden. Connecting the RFC again restores its visibility windows and these events.',
    ),
    params(FiscalEntityPath),
    returns(204, undefined, 'The RFC is unlinked.'),
    refuses(
      402,
      'The connection is paused, or an invoice is unpaid after its grace period. Drafts can always be unlinked, paused ones too.',
    ),
    refuses(404, ABSENT),
    refuses(409, 'Other requests keep changing the connection.'),
    (c) => unlinkRfc(c.var.ctx, c.req.valid('param').fiscal_entity_id).then(() => c.body(null, 204)),
  )

const BILLING = 'Billing'

/** The RFCs with their seats, for /v1/billing. */
export const seatRoutes = new Hono<App>()
  .get(
    '/rfcs',
    operation('listBillingRfcs', BILLING, 'List the RFCs with their seats'),
    query(BillingRfcQuery),
    returns(200, pageOf(BillingRfc)),
    async (c) => c.json(await listRfcs(c.var.ctx, c.req.valid('query'))),
  )
  .patch(
    '/rfcs/:fiscal_entity_id',
    operation(
      'changeBillingRfc',
      BILLING,
      'Pause or resume an RFC',
      'Pausing is never refused and frees the seat. Resuming restores the status from before the pause. When that was active, the tax ' +
        'authority is first asked about the stored CIEC and e.firma: if it accepts one, the extractors for reactivated connections run; if not, ' +
        'the status is `invalid_ciec`.',
    ),
    params(BillingRfcPath),
    body(BillingRfcChanges),
    returns(200, BillingRfc),
    refuses(402, 'Resuming only: an invoice is unpaid after its grace period, or no seat is free, as after the trial (with checkout_url).'),
    refuses(404, 'The organization has no connection to this fiscal entity.'),
    refuses(
      409,
      'Resuming only: the connection is a draft or has no valid CIEC or e.firma. The same status is returned when other requests keep changing ' +
        'the connection.',
    ),
    refuses(503, 'Resuming only: the tax authority does not answer, or has locked the account of the RFC. The RFC stays paused.'),
    async (c) => c.json(await changeRfc(c.var.ctx, c.req.valid('param').fiscal_entity_id, c.req.valid('json'))),
  )

const LIST = `Returns every connection with how far its downloads are, in the order of their identifiers. One request takes the place of one
for each RFC: ask for \`state=blocked\` to find those that need a person, and read \`GET /v1/cfdi/changes\` of those whose latest_change_at is later than
your last reading. With \`state\`, a page looks at 500 connections at most, so that it can be short while has_more is true.`

/** Mounted at /v1/sync. */
export const syncRoutes = new Hono<App>().get(
  '/',
  operation('listSync', 'Downloads', 'List where the downloads of all RFCs are', LIST),
  query(SyncQuery),
  returns(200, pageOf(SyncStatus)),
  refuses(404, 'The organization has no connection to the fiscal entity of the filter.'),
  async (c) => c.json(await listSync(c.var.ctx, c.req.valid('query'))),
)

/** Mounted at /v1/portfolio. */
export const attentionRoutes = new Hono<App>().get(
  '/attention',
  operation(
    'listPortfolioAttention',
    'Downloads',
    'List the RFCs that need somebody',
    'Returns the connections whose downloads are `blocked`, or of which a month is incomplete after its last download, with what to do. A page ' +
      'looks at `limit` connections, so that it can be short while has_more is true.',
  ),
  query(AttentionQuery),
  returns(200, pageOf(PortfolioAttention)),
  async (c) => c.json(await listAttention(c.var.ctx, c.req.valid('query'))),
)

/** Mounted at /v1/fiscal-entities. */
export const entitySyncRoutes = new Hono<App>().get(
  '/:fiscal_entity_id/sync',
  operation(
    'getSync',
    'Downloads',
    'Get where the downloads of an RFC are',
    'Says in one sentence what is going on, why, when it goes on, and what to do.',
  ),
  params(FiscalEntityPath),
  returns(200, SyncStatus),
  refuses(404, 'The organization has no connection to this fiscal entity.'),
  async (c) => c.json(await getSync(c.var.ctx)),
)

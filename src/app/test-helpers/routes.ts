import { Invoice, InvoicePath } from '../../accounts/billing/invoices/contract.ts'
import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { body, idempotent, operation, params, refuses, returns } from '../../platform/http/operation.ts'
import { FiscalEntityPath } from '../../taxpayers/contract.ts'
import { getClock, moveClock } from '../clock/moves.ts'
import {
  Accepted,
  BlacklistScenario,
  CancellationScenario,
  CfdiPath,
  ClockMove,
  InvoiceScenario,
  JobFailureScenario,
  JobPath,
  MailboxScenario,
  OrganizationScenario,
  RepseScenario,
  ScenarioOrganization,
  ServiceClock,
} from './contract.ts'
import {
  arrangeInvoice,
  arrangeOrganization,
  arrangePayment,
  cancelAtAuthority,
  expireLogin,
  failSyncJob,
  publishAtRegistry,
  publishOnList,
  sendToMailbox,
} from './test-helpers.ts'

/** Routes for clients' tests, which arrange data and change the sandbox's answers. They do not exist in `live`. */
export const testHelperRoutes = new Hono<App>()
  .get(
    '/clock',
    operation(
      'getClock',
      'Sandbox',
      'Read the service’s clock',
      '202 while a move goes on. `happened` then counts what has happened so far.',
    ),
    returns(200, ServiceClock),
    returns(202, ServiceClock, 'The clock is moving.'),
    async (c) => {
      const found = await getClock(c.var.ctx)
      return c.json(found, found.status === 'moving' ? 202 : 200)
    },
  )
  .post(
    '/clock',
    operation(
      'moveClock',
      'Sandbox',
      'Move the service’s clock forward',
      'Everything that would have happened in that time happens, in order: scheduled runs at each local midnight, retries, ends of trials and of days of ' +
        'grace, invoices, checks of lists and of REPSE, deadlines, e.firmas that end. The answer comes at once; GET says how far the move is. ' +
        'The clock never goes back, and is the same for the whole service. Signatures of webhooks keep the real time.',
    ),
    body(ClockMove),
    returns(202, ServiceClock, 'The clock is moving.'),
    refuses(
      409,
      'Another move goes on (`clock.moving`), or the service has several organizations, and only its operator moves the clock (`clock.several_organizations`).',
    ),
    idempotent(),
    async (c) => c.json(await moveClock(c.var.ctx, c.req.valid('json')), 202),
  )
  .post(
    '/organization',
    operation('arrangeOrganization', 'Sandbox', 'Set the organization’s plan, seats or end of trial'),
    body(OrganizationScenario),
    returns(200, ScenarioOrganization),
    refuses(409, 'Other requests keep changing the subscription at the same time. Try again.'),
    idempotent(),
    async (c) => c.json(await arrangeOrganization(c.var.ctx, c.req.valid('json'))),
  )
  .post(
    '/cfdi/:uuid/cancel',
    operation(
      'cancelAtAuthority',
      'Sandbox',
      'Make the sandbox authority report a CFDI as cancelled',
      'Takes effect with the next download or status check. With a `cancelled_at` after now the cancellation is in process until then: status ' +
        'checks say `en_proceso`, and downloads report it later: so a request for cancellation is arranged (`GET /v1/cancellation-requests`).',
    ),
    params(CfdiPath),
    body(CancellationScenario),
    returns(200, Accepted),
    refuses(
      404,
      'The organization has no connection to this fiscal entity, or one that has never been active; or it has no such CFDI that its window shows.',
    ),
    idempotent(),
    async (c) => c.json(await cancelAtAuthority(c.var.ctx, c.req.valid('param').uuid, c.req.valid('json'))),
  )
  .post(
    '/fiscal-entities/:fiscal_entity_id/expire-ciec',
    operation(
      'expireCiec',
      'Sandbox',
      'Make the sandbox authority reject the stored CIEC',
      'Takes effect when the authority is next asked about it, at a login or a verification. Any other CIEC is accepted.',
    ),
    params(FiscalEntityPath),
    returns(200, Accepted),
    refuses(404, 'The organization has no connection to this fiscal entity.'),
    refuses(409, 'No CIEC is stored for this fiscal entity.'),
    idempotent(),
    async (c) => c.json(await expireLogin(c.var.ctx, c.req.valid('param').fiscal_entity_id, 'ciec')),
  )
  .post(
    '/fiscal-entities/:fiscal_entity_id/expire-efirma',
    operation(
      'expireEfirma',
      'Sandbox',
      'Make the sandbox authority refuse the stored e.firma',
      'Takes effect when the authority is next asked about it, at a login or a verification, as if it were revoked. Any other one is accepted.',
    ),
    params(FiscalEntityPath),
    returns(200, Accepted),
    refuses(404, 'The organization has no connection to this fiscal entity.'),
    refuses(409, 'No e.firma is stored for this fiscal entity.'),
    idempotent(),
    async (c) => c.json(await expireLogin(c.var.ctx, c.req.valid('param').fiscal_entity_id, 'efirma')),
  )
  .post(
    '/sync-jobs/:job_id/fail',
    operation(
      'failSyncJob',
      'Sandbox',
      'Make a download job fail',
      'Ends a job that is queued or waiting as failed, as after its last attempt: `sync.failed` is sent, and `extraction.failed` once the other ' +
        'jobs of its run have ended. With a CIEC such as `slow3600`, jobs wait for the sandbox authority for so many seconds, so that there is time to ' +
        'fail them. The job fails for every organization of the sandbox that asked for it.',
    ),
    params(JobPath),
    body(JobFailureScenario),
    returns(200, Accepted),
    refuses(404, 'The organization has no connection to this fiscal entity, or its runs did not ask for such a job.'),
    refuses(
      409,
      'The job has ended (`sync_job.ended`), or a worker has the downloads of the fiscal entity at the moment (`sync_job.running`).',
    ),
    idempotent(),
    async (c) => c.json(await failSyncJob(c.var.ctx, c.req.valid('param').job_id, c.req.valid('json'))),
  )
  .post(
    '/repse',
    operation(
      'publishAtRegistry',
      'Sandbox',
      'Set the record of an RFC in the sandbox REPSE registry',
      'Previous answers stay as they are until the RFC is looked up again.',
    ),
    body(RepseScenario),
    returns(200, Accepted),
    idempotent(),
    async (c) => c.json(await publishAtRegistry(c.var.ctx, c.req.valid('json'))),
  )
  .post(
    '/blacklists',
    operation(
      'publishOnBlacklist',
      'Sandbox',
      'Put an RFC on a public blacklist of the sandbox',
      'Look-ups show it at once. The event `blacklist.changed` follows for each connection whose windows show a CFDI of the RFC. The lists of ' +
        'the sandbox are the same for all organizations in it.',
    ),
    body(BlacklistScenario),
    returns(200, Accepted),
    refuses(409, 'The list is not loaded yet (`blacklist.not_loaded`), or others keep changing it at the same time.'),
    idempotent(),
    async (c) => c.json(await publishOnList(c.var.ctx, c.req.valid('json'))),
  )
  .post(
    '/mailbox',
    operation(
      'sendToMailbox',
      'Sandbox',
      'Make the sandbox authority send a notification to the tax mailbox of an RFC',
      'The next run of an extractor, all of which include the source `sat_miinformacion`, receives it.',
    ),
    body(MailboxScenario),
    returns(200, Accepted),
    refuses(404, 'The organization has no connection to this fiscal entity, or one that has never been active.'),
    idempotent(),
    async (c) => c.json(await sendToMailbox(c.var.ctx, c.req.valid('json'))),
  )
  .post(
    '/invoices',
    operation(
      'arrangeInvoice',
      'Sandbox',
      'Add an open invoice',
      'The invoice is due today unless the body states a day, which may be in the past.',
    ),
    body(InvoiceScenario),
    returns(201, Invoice, 'The invoice'),
    idempotent(),
    async (c) => c.json(await arrangeInvoice(c.var.ctx, c.req.valid('json')), 201),
  )
  .post(
    '/invoices/:invoice_id/pay',
    operation('arrangePayment', 'Sandbox', 'Pay an invoice'),
    params(InvoicePath),
    returns(200, Invoice),
    refuses(404, 'The organization has no invoice with this identifier.'),
    refuses(409, 'Other requests keep changing the subscription at the same time. Try again.'),
    idempotent(),
    async (c) => c.json(await arrangePayment(c.var.ctx, c.req.valid('param').invoice_id)),
  )

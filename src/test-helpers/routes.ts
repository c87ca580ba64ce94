import { Hono } from 'hono'
import { Invoice, InvoicePath } from '../billing/invoices/contract.ts'
import type { App } from '../platform/context.ts'
import { body, idempotent, operation, params, refuses, returns, roles } from '../platform/http/operation.ts'
import { FiscalEntityPath } from '../taxpayers/contract.ts'
import {
  CancellationScenario,
  CfdiPath,
  InvoiceScenario,
  OrganizationScenario,
  RepseScenario,
  ScenarioOrganization,
  Told,
} from './contract.ts'
import { arrangeInvoice, arrangeOrganization, arrangePayment, cancelAtAuthority, expireCiec, publishAtRegistry } from './test-helpers.ts'

/** What a test wants of the sandbox. There is nothing at these paths in `live`. */
export const testHelperRoutes = new Hono<App>()
  .post(
    '/organization',
    operation('arrangeOrganization', 'Test helpers', 'Set the organization’s plan, allowance or end of trial'),
    roles('owner'),
    body(OrganizationScenario),
    returns(200, ScenarioOrganization),
    refuses(409, 'Others keep changing what the organization owes at the same time.'),
    idempotent(),
    async (c) => c.json(await arrangeOrganization(c.var.ctx, c.req.valid('json'))),
  )
  .post(
    '/cfdi/:uuid/cancel',
    operation('cancelAtAuthority', 'Test helpers', 'Have the authority report a CFDI as cancelled from its next download on'),
    params(CfdiPath),
    roles('owner'),
    body(CancellationScenario),
    returns(200, Told),
    refuses(404, 'The organization has no connection to this fiscal entity.'),
    idempotent(),
    async (c) => c.json(await cancelAtAuthority(c.var.ctx, c.req.valid('param').uuid, c.req.valid('json'))),
  )
  .post(
    '/fiscal-entities/:fiscal_entity_id/expire-ciec',
    operation('expireCiec', 'Test helpers', 'Have the authority reject the stored CIEC from its next login on'),
    params(FiscalEntityPath),
    roles('owner'),
    returns(200, Told),
    refuses(404, 'The organization has no connection to this fiscal entity.'),
    refuses(409, 'No CIEC is stored.'),
    idempotent(),
    async (c) => c.json(await expireCiec(c.var.ctx, c.req.valid('param').fiscal_entity_id)),
  )
  .post(
    '/repse',
    operation(
      'publishAtRegistry',
      'Test helpers',
      'Have the REPSE registry answer this from now on',
      'What was answered before stays as it is until the registry is asked again.',
    ),
    roles('owner'),
    body(RepseScenario),
    returns(200, Told),
    idempotent(),
    async (c) => c.json(await publishAtRegistry(c.var.ctx, c.req.valid('json'))),
  )
  .post(
    '/invoices',
    operation('arrangeInvoice', 'Test helpers', 'Add an open invoice', 'Due today unless a day is given, also one that is past.'),
    roles('owner'),
    body(InvoiceScenario),
    returns(201, Invoice, 'The invoice'),
    idempotent(),
    async (c) => c.json(await arrangeInvoice(c.var.ctx, c.req.valid('json')), 201),
  )
  .post(
    '/invoices/:invoice_id/pay',
    operation('arrangePayment', 'Test helpers', 'Pay an invoice'),
    params(InvoicePath),
    roles('owner'),
    returns(200, Invoice),
    refuses(404, 'There is no such invoice.'),
    refuses(409, 'Others keep changing what the organization owes at the same time.'),
    idempotent(),
    async (c) => c.json(await arrangePayment(c.var.ctx, c.req.valid('param').invoice_id)),
  )

import { Hono } from 'hono'
import { FiscalEntityPath } from '../entities/contract.ts'
import type { App } from '../env.ts'
import { body, operation, params, refuses, returns, roles } from '../http/operation.ts'
import { CancellationScenario, CfdiPath, OrganizationScenario, RepseScenario, ScenarioOrganization, Told } from './contract.ts'
import { arrangeOrganization, cancelAtAuthority, expireCiec, publishAtRegistry } from './test-helpers.ts'

/** What a test wants of the sandbox. There is nothing at these paths in `live`. */
export const testHelperRoutes = new Hono<App>()
  .post(
    '/organization',
    operation('arrangeOrganization', 'Test helpers', 'Set the organization’s plan, allowance or end of trial'),
    roles('owner'),
    body(OrganizationScenario),
    returns(200, ScenarioOrganization),
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
    async (c) => c.json(await publishAtRegistry(c.var.ctx, c.req.valid('json'))),
  )

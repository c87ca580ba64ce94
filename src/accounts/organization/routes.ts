import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { body, operation, returns, roles } from '../../platform/http/operation.ts'
import { OrganizationChanges, OrganizationProfile } from './contract.ts'
import { changeOrganization, getOrganization } from './organization.ts'

export const organizationRoutes = new Hono<App>()
  .get('/', operation('getOrganization', 'Organization', 'Get the organization'), returns(200, OrganizationProfile), async (c) =>
    c.json(await getOrganization(c.var.ctx)),
  )
  .patch(
    '/',
    operation(
      'updateOrganization',
      'Organization',
      'Update the organization',
      'Members that are omitted or null keep their value. An empty `logo_url` removes the logo.',
    ),
    roles('owner', 'admin'),
    body(OrganizationChanges),
    returns(200, OrganizationProfile),
    async (c) => c.json(await changeOrganization(c.var.ctx, c.req.valid('json'))),
  )

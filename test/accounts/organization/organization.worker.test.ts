import { expect, it } from 'vitest'
import { uuidOf } from '../../../src/platform/db/id.ts'
import { audited, organization } from '../../support/tenants.ts'

const PATH = '/v1/organization'

it('the time zone of an organization can be changed, and alone', async () => {
  const of = await organization()
  const { body: before } = await of.ask('GET', PATH)
  const { status, body } = await of.ask('PATCH', PATH, { timezone: 'America/Tijuana' })
  expect([status, body]).toEqual([200, { ...before, timezone: 'America/Tijuana' }])
  expect((await of.ask('GET', PATH)).body.timezone).toBe('America/Tijuana')
  expect((await audited(of, 'organization.updated')).map(({ changed }) => changed)).toEqual([['timezone']])
  // Null keeps it, as it keeps the other members.
  expect((await of.ask('PATCH', PATH, { timezone: null, name: 'Otra' })).body).toMatchObject({ timezone: 'America/Tijuana', name: 'Otra' })
})

it.each(['+06:00', 'GMT-6', 'america/mexico_city', 'Mexico City', ''])('%j is no time zone', async (timezone) => {
  const of = await organization()
  const { status, body } = await of.ask('PATCH', PATH, { timezone })
  expect([status, body.errors]).toEqual([
    422,
    [{ path: 'timezone', message: 'Must be the exact name of an IANA time zone, such as America/Mexico_City.' }],
  ])
})

it('a connection says its identifier as a UUID, as events have it', async () => {
  const of = await organization()
  const { body } = await of.ask('POST', '/v1/fiscal-entities', { rfc: 'EKU9003173C9' })
  expect(body.fiscal_entity_uuid).toBe(uuidOf(body.fiscal_entity_id))
  expect((await of.ask('GET', `/v1/fiscal-entities/${body.fiscal_entity_uuid}`)).body).toEqual(body)
})

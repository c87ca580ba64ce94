import { describe, expect, it } from 'vitest'
import { withDays } from '../../console/api/instants.ts'
import { openFirst, pageOf } from '../../console/pages/work/alerts/about.ts'

const uuid = '8a3f7c1e-0000-4000-8000-000000000001'
const listed = 'A list names Ñ&A010101AAA (EMPRESA): 69-B, definitivo. IIA040805DZ4 bought from it for 10.00 MXN.'
const later = 'On 2026-11-20 lists named more than 5 counterparties of IIA040805DZ4.'

describe('an alert', () => {
  it.each([
    ['connection.invalid', 'fe_9', '', '/rfcs/fe_9'],
    ['webhook.undelivered', 'wh_9', '', '/webhooks/wh_9'],
    ['storage.failed', 'stc_9', '', '/storage'],
    ['organization.suspended', 'org_9', '', '/billing'],
    ['mailbox.notification_received', 'ntf_9', '', '/rfcs/fe_1#mailbox'],
    ['counterparty.listed', 'fe_1', listed, '/cfdi?fiscal_entity_id=fe_1&counterparty_rfc=%C3%91%26A010101AAA'],
    ['counterparty.listed', 'fe_1', later, '/today'],
    ['cfdi.cancelled_after_payment', uuid, '', `/cfdi/${uuid}?fiscal_entity_id=fe_1`],
    ['cfdi.cancelled_after_payment', 'fe_1', '', '/cfdi?fiscal_entity_id=fe_1&estatus=cancelado'],
    ['repse.expired', 'xyz_9', '', null],
  ] as const)('%s about %s leads to its page', (kind, resource_id, message, page) =>
    expect(pageOf({ kind, resource_id, message, fiscal_entity_id: 'fe_1', rfc: 'IIA040805DZ4' })).toBe(page),
  )

  it('of no RFC leads to no page of one', () => {
    const none = { fiscal_entity_id: null, rfc: null, message: listed }
    expect(pageOf({ ...none, kind: 'mailbox.notification_received', resource_id: 'ntf_9' })).toBeNull()
  })

  it('says its days as the page does, and instants as they are', () =>
    expect(withDays('El 2026-11-20, y el 2026-11-24. A las 2026-11-24T10:00Z.', (day) => `<${day}>`)).toBe(
      'El <2026-11-20>, y el <2026-11-24>. A las 2026-11-24T10:00Z.',
    ))

  it('that is open comes before those that are resolved', () => {
    const page = [1, null, 2, null].map((resolved_at, n) => ({ n, resolved_at: resolved_at === null ? null : String(resolved_at) }))
    expect(openFirst(page).map(({ n }) => n)).toEqual([1, 3, 0, 2])
  })
})

import { describe, expect, it } from 'vitest'
import { openFirst, pageOf, withDays } from '../../console/pages/work/alerts/about.ts'

const entities = [
  { fiscal_entity_id: 'fe_1', rfc: 'IIA040805DZ4' },
  { fiscal_entity_id: 'fe_2', rfc: 'Ñ&A010101AAA' },
]
const message = 'The tax mailbox of IIA040805DZ4 received “Sobre Ñ&A010101AAA” on 2026-11-20.'

describe('an alert', () => {
  it.each([
    ['fe_9', message, '/rfcs/fe_9'],
    ['wh_9', '', '/webhooks/wh_9'],
    ['stc_9', '', '/storage'],
    ['org_9', '', '/billing'],
    ['ntf_9', message, '/rfcs/fe_1#mailbox'],
    ['ntf_9', 'The tax mailbox of Ñ&A010101AAA received “x”.', '/rfcs/fe_2#mailbox'],
    ['ntf_9', 'The tax mailbox of OTR050101AB9 received “IIA040805DZ4”.', null],
    ['xyz_9', message, null],
  ])('about %s leads to its page', (resource_id, text, page) => expect(pageOf({ resource_id, message: text }, entities)).toBe(page))

  it('says its days as the page does, and instants as they are', () =>
    expect(withDays('El 2026-11-20, y el 2026-11-24. A las 2026-11-24T10:00Z.', (day) => `<${day}>`)).toBe(
      'El <2026-11-20>, y el <2026-11-24>. A las 2026-11-24T10:00Z.',
    ))

  it('that is open comes before those that are resolved', () => {
    const page = [1, null, 2, null].map((resolved_at, n) => ({ n, resolved_at: resolved_at === null ? null : String(resolved_at) }))
    expect(openFirst(page).map(({ n }) => n)).toEqual([1, 3, 0, 2])
  })
})

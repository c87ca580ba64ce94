import { describe, expect, it } from 'vitest'
import type { RecipientRow } from '../../../src/delivery/relay/fan-out-store.ts'
import { feedEventsOf } from '../../../src/delivery/relay/feed-events.ts'
import type { CancellationBody } from '../../../src/downloads/cancellation-events.ts'
import { newId } from '../../../src/platform/db/id.ts'
import { grantedRangesOf } from '../../support/granted-ranges.ts'

const at = (day: string): number => Date.parse(`${day}T18:00:00Z`)

const ORGANIZATION = newId('org')

/** Issued at noon of a day, and found cancelled by a run of another day, which the organization shares. */
const cancellation = (day: string, found: string): CancellationBody => ({
  ...{ cfdi_uuid: '04330ADB-FF49-44E2-9150-D8B51F6C1C9F', cancelled_at: null, cancellation_reason: '02', direction: 'received' },
  ...{ cfdi_type: 'I', payments: [[0, 'unpaid', false]], total: '116.00', currency: 'MXN' },
  ...{ emisor_rfc: 'EKU9003173C9', receptor_rfc: 'URE180429TM6' },
  ...{ issued_at: Date.parse(`${day}T18:00:00Z`) / 1_000, utc_offset: -360, fecha: `${day}T12:00:00` },
  ...{ stored_at: at(day), detected_at: at(found) + 1_000, requested: { [ORGANIZATION]: at(found) } },
})

/** A connection whose runs had these instants and first days. */
const recipient = (...runs: [day: string, floor: string][]): RecipientRow => ({
  ...{ request: 0, connection: 1, entity: 1, organization_id: ORGANIZATION, fiscal_entity_id: newId('fe'), rfc: 'URE180429TM6' },
  ...{ state: 'active', active_since: 0, inactive_since: null, issued_from: null, issued_to: null, issued_granted_ranges: '[]' },
  received_from: runs.map(([, floor]) => floor).sort()[0]!,
  received_to: Math.max(...runs.map(([day]) => at(day))),
  received_granted_ranges: grantedRangesOf(runs.map(([day, floor]) => [at(day), floor])),
  ...{ extractor_count: 1, extractors_since: null, first_active_at: 0, has_planned_run: 0, events_shard: 0 },
})

const notified = async (body: CancellationBody, row: RecipientRow): Promise<number> => {
  const event = { outbox_event_id: 'one', kind: 'cfdi.cancelled', entity: 1, organizations: null, created_at: body.detected_at }
  return (await feedEventsOf({ ...event, body: JSON.stringify(body) }, row, undefined)).length
}

describe('a cancellation is told to an organization', () => {
  it('whose window showed the CFDI before it was found', async () => {
    expect(
      await notified(cancellation('2026-06-25', '2026-08-08'), recipient(['2026-07-24', '2026-06-24'], ['2026-08-08', '2026-05-10'])),
    ).toBe(1)
  })

  it('not when the run that found it was the first to show it, although the whole month had been downloaded for it before', async () => {
    expect(
      await notified(cancellation('2026-06-20', '2026-08-08'), recipient(['2026-07-24', '2026-06-24'], ['2026-08-08', '2026-05-10'])),
    ).toBe(0)
    // Another organization's run found it before: the window does not show it then either.
    expect(await notified(cancellation('2026-06-20', '2026-08-03'), recipient(['2026-07-24', '2026-06-24']))).toBe(0)
  })

  it('not when all runs that showed it had requested the job that found it, however late that job ended', async () => {
    const row = recipient(['2026-08-01', '2026-07-02'], ['2026-08-04', '2026-07-05'])
    const found = (requested: Record<string, number>) => ({ ...cancellation('2026-07-20', '2026-08-19'), requested })
    expect(await notified(found({ [row.organization_id]: at('2026-08-01') }), row)).toBe(0)
    // The job of the first run had ended before.
    expect(await notified(found({ [row.organization_id]: at('2026-08-04') }), row)).toBe(1)
    // Another organization had requested the job that found it, long before.
    expect(await notified(found({ [newId('org')]: at('2026-07-25') }), row)).toBe(1)
  })

  it('that saw it without extractors, when the first run of its first extractor finds it', async () => {
    const first = { ...recipient(['2026-08-08', '2026-05-10']), extractors_since: at('2026-08-07') }
    const body = cancellation('2026-06-25', '2026-08-08')
    expect(await notified(body, first)).toBe(1)
    // It was stored, or got its XML, when the windows were bounded already.
    expect(await notified({ ...body, stored_at: at('2026-08-07') + 1 }, first)).toBe(0)
    expect(await notified(body, { ...first, first_active_at: at('2026-08-07') + 1 })).toBe(0)
    expect(await notified(body, { ...first, extractors_since: null })).toBe(0)
  })

  it('whose earlier run showed its day, and a later one downloaded it with its month', async () => {
    // The first run was before the document was issued; the second begins later in its month.
    expect(
      await notified(cancellation('2026-06-10', '2026-08-08'), recipient(['2026-06-01', '2026-05-02'], ['2026-07-20', '2026-06-20'])),
    ).toBe(1)
  })
})

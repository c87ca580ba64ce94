import { measure } from './measures.ts'
import { type Rig, withRig } from './rig.ts'
import { sized } from './sizes.ts'
import { signUp } from './tenants.ts'
import type { Recording } from './workers/storage.ts'

const ENTITY = 7
/** One that is a UUID, which events are told under. */
const FISCAL_ENTITY_ID = 'fe_01h455vb4pex5vsknk084sn02q'
const FACTS = sized(10_000, 1_000)
const ENDPOINTS = 3

/** A customer with endpoints, and cancellations that nobody has been told of. */
async function fill(rig: Rig): Promise<void> {
  const { authorization } = await signUp(rig, ENTITY)
  await rig.query('control', 'update connections set fiscal_entity_id = ?2 where entity = ?1', ENTITY, FISCAL_ENTITY_ID)
  for (let n = 0; n < ENDPOINTS; n++) {
    const answer = await fetch(`${rig.service}/v1/webhooks`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'ERP', url: `https://hooks-${n}.example.com/in`, event_keys: ['cfdi.cancelled'] }),
    })
    if (answer.status !== 201) throw new Error(`A webhook was answered ${answer.status}: ${await answer.text()}`)
  }
  const body = {
    cancelled_at: '2026-06-01T12:00:00-06:00',
    ...{ cancellation_reason: '02', direction: 'received', cfdi_type: 'I', detected_at: 1_780_000_000_000 },
    payments: [[0, 'unpaid', false]],
    ...{ total: '1160.00', currency: 'MXN', emisor_rfc: 'AAA010101AAA', receptor_rfc: 'BBB020202BB1' },
    ...{ issued_at: 1_779_300_000, utc_offset: -21_600, fecha: '2026-05-20T12:00:00' },
  }
  await rig.query(
    'ledger',
    `insert into outbox (outbox_event_id, kind, entity, organizations, body, created_at)
     select printf('cfdi.cancelled:bench:%06d', i), 'cfdi.cancelled', ?1, null, json_set(?2, '$.cfdi_uuid', printf('6A6D0A9E-3C1E-4F0B-9E55-%012d', i)),
       1780000000000 + i
     from (with recursive numbers (i) as (select 1 union all select i + 1 from numbers where i < ?3) select i from numbers)`,
    ...[ENTITY, JSON.stringify(body), FACTS],
  )
}

const written = ({ calls }: Recording): number =>
  calls.flatMap(({ statements }) => statements).reduce((sum, { rows_written }) => sum + rows_written, 0)

export const deliveries = measure({
  figures: {
    'delivery.rows_written': {
      atMost: 6,
      digits: 2,
      meaning: `Rows that D1 writes for a delivery, from its fact to its end: ${FACTS.toLocaleString('en')} facts, ${ENDPOINTS} endpoints, all received`,
    },
    'relay.statements_per_100': { atMost: 8, digits: 2, meaning: 'D1 statements that turn 100 facts into events and deliveries' },
  },
  take: () =>
    withRig(async (rig) => {
      await fill(rig)
      const relay = await rig.recorded(() => rig.ask('/relay'))
      const delivery = await rig.recorded(async () => {
        for (let due = relay.result; Array.isArray(due) && due.length > 0; ) due = await rig.ask('/deliver', JSON.stringify(due))
      })
      const made = Number((await rig.query('events', `select count(*) from deliveries where status = 'delivered'`)).rows[0]![0])
      if (made !== FACTS * ENDPOINTS) throw new Error(`${made} deliveries were received.`)
      const statements = relay.recording.calls.reduce((sum, call) => sum + call.statements.length, 0)
      if (process.env['BENCH_VERBOSE'])
        console.error(
          `  rows written for ${made} deliveries: ${written(relay.recording)} by the relay, ${written(delivery.recording)} after it`,
        )
      return {
        'delivery.rows_written': (written(relay.recording) + written(delivery.recording)) / made,
        'relay.statements_per_100': statements / (FACTS / 100),
      }
    }),
})

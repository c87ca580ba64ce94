import { RFC } from '../../test/cfdi/support/documents.ts'
import { measure } from './measures.ts'
import { ingested } from './packages.ts'
import { type Rig, withRig } from './rig.ts'
import { sized } from './sizes.ts'
import { signUp } from './tenants.ts'

const ENTITY = 3
const SEED = 902
const DOCUMENTS = sized(100_000, 20_000)
const SUPPLIERS = sized(5_000, 1_000)
const MONTHS = 24
const AT_ONCE = 10_000

const NOW = Date.now()
const BEGIN = Date.UTC(new Date(NOW).getUTCFullYear(), new Date(NOW).getUTCMonth() - (MONTHS - 1), 2)

/** The RFC of the supplier of a document `i`: every supplier in most months. */
const supplier = `(select printf('PRV10%02d%02d%02d%d', 1 + n % 12, 1 + n % 28, n / 336, n % 10) from (select i * 7919 % ${SUPPLIERS} as n))`

/** Each round is a document of each supplier. */
const round = `(i / ${SUPPLIERS})`

/** Received invoices and, every tenth, credit notes, spread evenly over the months; every twentieth cancelled, a tenth in dollars. */
async function fill({ query }: Rig): Promise<void> {
  const { columns } = await query('ledger', 'select * from cfdi limit 0')
  const step = Math.floor((NOW - BEGIN) / 1_000 / DOCUMENTS)
  const values: Record<string, string> = {
    entity: String(ENTITY),
    uuid: `printf('%08X-0000-4000-8000-%012X', i, i)`,
    direction: '1',
    cancelled: `${round} % 20 = 0`,
    estatus: `iif(${round} % 20 = 0, 'cancelado', 'vigente')`,
    issued_at: `${BEGIN / 1_000} + i * ${step}`,
    utc_offset: '-360',
    fecha: `strftime('%Y-%m-%dT%H:%M:%S', ${BEGIN / 1_000} + i * ${step} - 21600, 'unixepoch')`,
    tipo_comprobante: `iif(${round} % 10 = 1, 'E', 'I')`,
    currency: `iif(i % 10 = 3, 'USD', 'MXN')`,
    tipo_cambio: `iif(i % 10 = 3, '17.5', null)`,
    emisor_rfc: supplier,
    counterparty_rfc: supplier,
    receptor_rfc: `'${RFC}'`,
    total_mxn: 'total_micros',
  }
  for (let from = 0; from < DOCUMENTS; from += AT_ONCE)
    await query(
      'ledger',
      `insert into cfdi (${columns.join(', ')}) select ${columns.map((name) => values[name] ?? name).join(', ')}
       from (with recursive numbers (i) as (select cast(?1 as integer) union all select i + 1 from numbers where i + 1 < ?2) select i from numbers)
       cross join (select * from cfdi where entity = ?3 and tipo_comprobante = 'I' limit 1)`,
      ...[from, from + AT_ONCE, SEED],
    )
  await query('ledger', FILL_SUPPLIERS)
}

/** Fills the totals of suppliers from the stored documents, as ingest would have kept them. */
const FILL_SUPPLIERS = `
  insert into cfdi_suppliers (entity, month, part, totals)
  select entity, month, part, json_group_object(rfc, json_array(invoices, notes, known, missing, 0, amount)) from (
    select entity, substr(fecha, 1, 7) as month, unicode(substr(emisor_rfc, -1)) % 4 as part, emisor_rfc as rfc,
      sum(tipo_comprobante = 'I') as invoices, sum(tipo_comprobante = 'E') as notes, sum(version is not null) as known, sum(total_mxn is null) as missing,
      cast(coalesce(sum(case tipo_comprobante when 'I' then total_mxn else -total_mxn end), 0) as text) as amount
    from cfdi where entity = ${ENTITY} and direction = 1 and estatus = 'vigente' and tipo_comprobante in ('I', 'E') and kind = 'cfdi'
      and emisor_rfc <> receptor_rfc
    group by 1, 2, 3, 4 order by 1, 2, 3, 4)
  group by 1, 2, 3`

export const repse = measure({
  figures: {
    'repse.report_rows_read': {
      atMost: 15_000,
      meaning: `Rows that D1 reads for a report of ${MONTHS} months over ${DOCUMENTS.toLocaleString('en')} received CFDIs of ${SUPPLIERS.toLocaleString('en')} suppliers, all known to the registry, 200 listed; suppliers × months are ${(MONTHS * SUPPLIERS).toLocaleString('en')}`,
    },
  },
  take: () =>
    withRig(async (rig) => {
      await ingested(rig, SEED)
      await fill(rig)
      const { authorization, fiscal_entity_id } = await signUp(rig, ENTITY, NOW)
      await rig.query(
        'control',
        `insert into repse_records (rfc, checked_at, is_registered, vigencia_hasta, attempts)
         select value, ?2, 1, '2030-01-01', 0 from json_each(?1) where true on conflict do nothing`,
        JSON.stringify(
          (
            await rig.query('ledger', 'select distinct counterparty_rfc from cfdi indexed by cfdi_cpd where entity = ?', ENTITY)
          ).rows.flat(),
        ),
        NOW,
      )
      const url = `${rig.service}/v1/cfdi/repse-suppliers?${new URLSearchParams({ fiscal_entity_id, months: String(MONTHS), limit: '200' })}`
      const { result, recording } = await rig.recorded(async () => {
        const answer = await fetch(url, { headers: { authorization } })
        return (await answer.json()) as { supplier_count: number; registered_count: number; data_quality: { cfdi_total: number } }
      })
      const { supplier_count, registered_count, data_quality } = result
      if (supplier_count !== SUPPLIERS || registered_count !== SUPPLIERS || data_quality.cfdi_total !== DOCUMENTS * 0.95)
        throw new Error(`The report is of something else: ${JSON.stringify({ supplier_count, registered_count, data_quality })}`)
      return {
        'repse.report_rows_read': recording.calls
          .flatMap(({ statements }) => statements)
          .reduce((sum, { rows_read }) => sum + rows_read, 0),
      }
    }),
})

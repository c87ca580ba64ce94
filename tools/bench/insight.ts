import { yearOf } from '../../test/analytics/years/year.ts'
import { zipOf } from '../../test/support/zip.ts'
import { type Figure, measure, median } from './measures.ts'
import { type Rig, withRig } from './rig.ts'
import { named, sized } from './sizes.ts'
import { FILL_MONTHS } from './summary.ts'
import { signUp } from './tenants.ts'

const SEED = 904
const YEAR = yearOf(56)
const FROM = YEAR.months[0]!
const TO = YEAR.months.at(-1)!
const LAST_DAY = `${TO}-28`
const BOOKS = { 7: sized(10_000, 1_000), 8: sized(100_000, 5_000) }
const AT_ONCE = 40
const ROUNDS = sized(7, 1)

const range = `from=${FROM}&to=${TO}`
/** What is asked, with the directions whose documents are in the answer. */
const SURFACES = {
  risk: [`cfdi/risk?${range}`, [0, 1], 'payments'],
  withholdings: [`cfdi/withholdings?${range}`, [0, 1], 'payments'],
  deductions: [`cfdi/deductions?${range}`, [1], 'payments'],
  portfolio: [`analytics/risk?${range}`, [0, 1]],
  concentration: [`cfdi/concentration?direction=issued&${range}`, [0]],
  concepts: [`analytics/concepts?direction=issued&level=key&${range}`, [0]],
  fx: [`analytics/fx-exposure?as_of=${LAST_DAY}&${range}`, [0, 1], 'payments'],
  vat: [`analytics/vat-position?${range}`, [0, 1], 'payments'],
  efos: [`analytics/efos-exposure?direction=received&${range}`, [1]],
  financing: ['analytics/financing?limit=25', [0, 1]],
  financing_past: [`analytics/financing?as_of=${LAST_DAY}`, [0, 1], 'payments'],
} as const satisfies Record<string, readonly [path: string, directions: readonly (0 | 1)[], reads?: 'payments']>
type Surface = keyof typeof SURFACES
const NAMES = Object.keys(SURFACES) as Surface[]

/** A party of a copy: one in two hundred keeps its RFC, which may be on a list. */
const party = (column: string): string =>
  `iif(copy % 200 = 0 or ${column} in ('XAXX010101000', 'XEXX010101000', '${YEAR.rfc}'), ${column},
     substr(${column}, 1, length(${column}) - 3) || printf('%03d', copy % 200))`
const renamed = (column: string): string => `printf('%08X', copy) || substr(${column}, 9)`
const renamedList = (column: string): string =>
  `iif(${column} is null, null, (select json_group_array(printf('%08X', copy) || substr(value, 9)) from json_each(${column})))`

/** What a copy of a row has in the place of the original's. */
const COPIES: Record<string, Record<string, string>> = {
  cfdi: {
    ...{ uuid: renamed('uuid'), related: renamedList('related'), chunk: 'chunk + copy * 1000000' },
    ...{ emisor_rfc: party('emisor_rfc'), receptor_rfc: party('receptor_rfc'), counterparty_rfc: party('counterparty_rfc') },
    cancelled: 'unicode(substr(uuid, -2)) % 24 = 0',
    estatus: "iif(unicode(substr(uuid, -2)) % 24 = 0, 'cancelado', 'vigente')",
  },
  cfdi_payments: { invoice: renamed('invoice'), source: renamed('source') },
  cfdi_substitutions: { substituted: renamed('substituted'), source: renamed('source') },
  cfdi_chunks: { chunk: 'chunk + copy * 1000000' },
}

/** Loads the lists, rates and registrations of the history. */
async function load({ query }: Rig): Promise<void> {
  const { lists, rates, repse } = YEAR
  const insert = (table: string, columns: string, rows: unknown[][]) =>
    query(
      'control',
      `insert into ${table} (${columns}) select ${columns.split(',').map((_, n) => `value->>${n}`)} from json_each(?)`,
      JSON.stringify(rows),
    )
  await insert(
    'blacklist_lists',
    'organization_id, source, version, row_count',
    [...new Set(lists.map(({ source }) => source))].map((one) => ['', one, 1, 1]),
  )
  await insert(
    'blacklist_entries',
    'organization_id, source, rfc, name, situacion, history',
    lists.map(({ source, rfc, name, history }) => [
      ...['', source, rfc, name, history.at(-1)?.situacion ?? null],
      JSON.stringify(history.map(({ situacion, sat_at, dof_at, oficio }) => [situacion, sat_at, dof_at, oficio])),
    ]),
  )
  await insert(
    'fx_rates',
    'currency, date, rate, source',
    rates.map(({ currency, date, rate, source }) => [currency, date, rate, source]),
  )
  await insert(
    'repse_records',
    'rfc, checked_at, is_registered, vigencia_hasta, actividades, attempts',
    [...repse].map(([rfc, { is_registered, vigencia_hasta }]) => [rfc, 0, Number(is_registered), vigencia_hasta, '[{}]', 0]),
  )
}

/** Fills an entity with copies of a seeded history. */
async function fill({ query }: Rig, entity: number, documents: number): Promise<void> {
  const { rows } = await query('ledger', 'select count(*) from cfdi where entity = ?', SEED)
  const copies = Math.ceil(documents / Number(rows[0]![0]))
  for (const [table, values] of Object.entries(COPIES)) {
    const { columns } = await query('ledger', `select * from ${table} limit 0`)
    const others = columns.filter((name) => name !== 'entity')
    for (let from = 0; from < copies; from += AT_ONCE)
      await query(
        'ledger',
        `insert into ${table} (entity, ${others.join(', ')}) select ?1, ${others.map((name) => values[name] ?? name).join(', ')}
         from (select value as copy from json_each(?2)) cross join ${table} where entity = ?3`,
        ...[entity, JSON.stringify(Array.from({ length: Math.min(AT_ONCE, copies - from) }, (_, n) => from + n)), SEED],
      )
  }
  await query('ledger', FILL_MONTHS, entity)
}

interface Book {
  entity: number
  documents: number
  headers: { authorization: string }
  fiscal_entity_id: string
}

const urlOf = ({ service }: Rig, { fiscal_entity_id }: Book, name: Surface): string =>
  `${service}/v1/${SURFACES[name][0]}&fiscal_entity_id=${fiscal_entity_id}`

async function answerOf(url: string, headers: Record<string, string> = {}): Promise<void> {
  const answer = await fetch(url, { headers })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}: ${text.slice(0, 500)}`)
}

const timeOf = async (run: () => Promise<void>): Promise<number> => {
  const began = performance.now()
  await run()
  return performance.now() - began
}

const isIn = `issued_at between unixepoch('${FROM}-01') and unixepoch('${TO}-01', '+1 month')`

/** One SELECT over the same rows by their index that sums one column: documents, and what complements pay of which invoices. */
const bareOf = ({ entity }: Book, name: Surface): string => {
  const [, directions, more] = SURFACES[name] as readonly [string, readonly number[], string?]
  const documents = (direction: number) =>
    `select sum(total_mxn) from cfdi indexed by cfdi_dirc where entity = ${entity} and direction = ${direction} and cancelled = 0 and ${isIn}`
  const payments = (direction: number) =>
    `select sum(p.amount + i.total_micros) from cfdi own indexed by cfdi_tipoc cross join json_each(own.related) r
       cross join cfdi_payments p cross join cfdi i
     where own.entity = ${entity} and own.tipo_comprobante = 'P' and own.direction = ${direction} and own.cancelled = 0 and own.${isIn}
       and p.entity = ${entity} and p.invoice = r.value and p.source = own.uuid and i.entity = ${entity} and i.uuid = p.invoice`
  const statements = directions.flatMap((direction) => (more ? [documents(direction), payments(direction)] : [documents(direction)]))
  return statements.join(' union all ')
}

/** How long a surface takes, to the bare statement of its documents; asked in turns, after one of each. */
async function ratioOf(rig: Rig, book: Book, name: Surface): Promise<number> {
  const statement = { database: 'ledger', sql: bareOf(book, name), params: [] }
  await rig.ask('/bare', JSON.stringify({ statements: [statement] }))
  const [times, bare]: [number[], number[]] = [[], []]
  for (let round = 0; round <= ROUNDS; round++) {
    const ours = await timeOf(() => answerOf(urlOf(rig, book, name), book.headers))
    const least = await timeOf(() => answerOf(`${rig.work}/bare-page`))
    if (round === 0) continue
    times.push(ours)
    bare.push(least)
  }
  return median(times) / median(bare)
}

const figuresOf = (name: Surface): Record<string, Figure> => ({
  [`insight.${name}.d1_calls`]: { atMost: 6, meaning: `D1 calls of GET /v1/${SURFACES[name][0].split('?')[0]}, authentication included` },
  [`insight.${name}.rows_read.${named(BOOKS[7])}`]: {
    meaning: `Rows that it reads of ${TO.slice(0, 4)} and the months before, of an RFC with ${BOOKS[7].toLocaleString('en')} CFDIs`,
  },
  [`insight.${name}.rows_read.${named(BOOKS[8])}`]: { meaning: `The same of one with ${BOOKS[8].toLocaleString('en')} CFDIs` },
  [`insight.${name}.ratio_vs_bare`]: {
    ...{ isRatioOfTimes: true, atMost: 3, digits: 2 },
    meaning: `Its time with ${BOOKS[8].toLocaleString('en')} CFDIs, to that of one SELECT over the same rows by their index that sums one column`,
  },
})

export const insight = measure({
  figures: Object.assign({}, ...NAMES.map(figuresOf)) as Record<string, Figure>,
  take: () =>
    withRig(async (rig) => {
      const utf8 = new TextEncoder()
      const files = YEAR.documents.filter(({ isMetadataOnly }) => !isMetadataOnly)
      await rig.ask(
        '/package?name=insight',
        Buffer.from(zipOf(files.map(({ uuid, xml }) => ({ name: `${uuid}.xml`, bytes: utf8.encode(xml) })))),
      )
      await rig.ask(`/ingest?entity=${SEED}&rfc=${YEAR.rfc}&name=insight`, 'null')
      await load(rig)
      const taken: Record<string, number> = {}
      for (const [entity, documents] of Object.entries(BOOKS)) {
        await fill(rig, Number(entity), documents)
        const { authorization, fiscal_entity_id } = await signUp(rig, Number(entity), Date.now())
        await rig.query('control', 'update connections set rfc = ?1 where entity = ?2', YEAR.rfc, Number(entity))
        const book: Book = { entity: Number(entity), documents, headers: { authorization }, fiscal_entity_id }
        for (const name of NAMES) {
          await answerOf(urlOf(rig, book, name), book.headers)
          const { recording } = await rig.recorded(() => answerOf(urlOf(rig, book, name), book.headers))
          const rows = recording.calls.flatMap(({ statements }) => statements).reduce((sum, { rows_read }) => sum + rows_read, 0)
          taken[`insight.${name}.rows_read.${named(documents)}`] = rows
          if (documents !== BOOKS[8]) continue
          taken[`insight.${name}.d1_calls`] = recording.calls.length
          taken[`insight.${name}.ratio_vs_bare`] = await ratioOf(rig, book, name)
          if (process.env['BENCH_VERBOSE'] === '1')
            for (const one of recording.calls.flatMap(({ statements }) => statements))
              console.error(name, one.rows_read, one.sql.replace(/\s+/g, ' ').slice(0, 3000))
        }
      }
      return taken
    }),
})

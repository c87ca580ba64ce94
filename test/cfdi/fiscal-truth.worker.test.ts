import { applyD1Migrations, env } from 'cloudflare:test'
import Big from 'big.js'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Cfdi } from '../../src/cfdi/contract.ts'
import { listPayments } from '../../src/cfdi/detail/detail.ts'
import { type IngestTarget, ingestMetadata } from '../../src/cfdi/ingest/ingest.ts'
import { CfdiSearch } from '../../src/cfdi/search/contract.ts'
import { searchCfdi } from '../../src/cfdi/search/search.ts'
import { MonthlySummaryQuery } from '../../src/cfdi/summary/contract.ts'
import { summarizeMonths } from '../../src/cfdi/summary/summary.ts'
import { sumSuppliers } from '../../src/cfdi/suppliers/suppliers.ts'
import type { Ctx } from '../../src/platform/context.ts'
import { openLedger } from '../../src/taxpayers/visibility/scoped-ledger.ts'
import { shows, type Window, type Windows, windowsOf } from '../../src/taxpayers/visibility/window.ts'
import { contextOf, FISCAL_ENTITY, type GrantedRange, reaching } from '../support/context.ts'
import { runs } from '../support/fuzz.ts'
import { randomOf, uuidFrom } from '../support/random.ts'
import { all, newBook, reported } from './support/book.ts'
import { type Plain, packageOf, plainOf, RFC } from './support/documents.ts'
import { ingestZip } from './support/ingest-zip.ts'
import { countedAmong, instantOf, isSubstitutedBy, partsOf, type Seen } from './support/oracle.ts'

/**
 * The slow oracle: it reads every document that an organization sees and adds them up one by one, in exact decimals, by the rules of whose
 * payment counts (parties, currency), what a substitution means, and what windows hide. Histories are random: documents come as downloads and
 * imports, as XML and as metadata, in any order and more than once, and are cancelled in between.
 */

type Pick = <T>(list: readonly T[]) => T
const directionOf = ({ document: { emisor } }: Seen) => (emisor === RFC ? 'issued' : 'received')

/** Documents of six weeks: invoices, what pays and credits them, rightly or not, and what substitutes any of these. */
function documentsOf(random: () => number, pick: Pick): Plain[] {
  const [customer, other] = ['BBB020202BB1', 'CCC030303CC2']
  const amount = () => new Big(Math.floor(random() * 3_000_000)).div(pick([100, 100, 10_000, 1_000_000])).toFixed()
  const side = (): Partial<Plain> =>
    pick([
      { emisor: RFC, receptor: customer },
      { emisor: RFC, receptor: customer },
      { emisor: RFC, receptor: other },
      { emisor: customer, receptor: RFC },
      { emisor: customer, receptor: RFC },
      { emisor: RFC, receptor: RFC },
    ])
  const money = (): Partial<Plain> =>
    pick<Partial<Plain>>([
      {},
      {},
      { moneda: 'USD', tipo_cambio: '17.2534' },
      { moneda: 'USD', tipo_cambio: null },
      { moneda: 'EUR', tipo_cambio: '20.1' },
    ])
  const one = (given: Partial<Plain>): Plain => {
    const [subtotal, iva] = [amount(), amount()]
    const sums = { subtotal, iva, total: new Big(subtotal).plus(iva).toFixed(), lines: 1, lugar: pick(['06600', '22000', '77500']) }
    return { ...plainOf(random, pick(['2026-01', '2026-02']), {}), ...sums, ...side(), ...given }
  }
  const invoices = Array.from({ length: 5 }, () => one({ tipo: 'I', metodo: pick(['PPD', 'PPD', 'PUE']), ...money() }))
  // Mostly the invoice's own parties.
  const sideOf = ({ emisor, receptor }: Plain) =>
    random() < 0.6 ? { emisor, receptor } : random() < 0.5 ? { emisor, receptor: other } : side()
  const ours = (document: Plain): Plain =>
    document.emisor === RFC || document.receptor === RFC ? document : { ...document, receptor: RFC }
  const payments = Array.from({ length: 5 }, () => {
    const invoice = pick(invoices)
    const pagado = (total: string) =>
      pick([
        () => total,
        () => new Big(total).minus('0.004').abs().toFixed(),
        () => new Big(total).minus('0.005').abs().toFixed(),
        amount,
      ])()
    const documentos = [invoice, ...(random() < 0.3 ? [pick(invoices)] : [])].map(({ uuid, total, moneda }) => ({
      uuid,
      pagado: pagado(total),
      moneda: random() < 0.75 ? moneda : pick(['MXN', 'USD']),
    }))
    const free = { tipo: 'P', metodo: null, moneda: 'XXX', tipo_cambio: null, subtotal: '0', iva: '0', total: '0' } as const
    const payment = one({ ...free, ...sideOf(invoice) })
    return ours({ ...payment, pagos: [{ fecha: payment.fecha, documentos }] })
  })
  const credits = Array.from({ length: 4 }, () => {
    const invoice = pick(invoices)
    const uuids = [...new Set([invoice.uuid, ...(random() < 0.4 ? [pick(invoices).uuid] : [])])]
    const currency = random() < 0.6 ? { moneda: invoice.moneda, tipo_cambio: invoice.tipo_cambio } : money()
    return ours(one({ tipo: 'E', metodo: 'PUE', ...sideOf(invoice), ...currency, relacion: { tipo: pick(['01', '03', '07']), uuids } }))
  })
  const documents = [...invoices, ...payments, ...credits]
  for (let n = 0; n < 5; n++) {
    const [older, like] = [pick(documents), random() < 0.5 ? pick(documents) : null]
    const uuids = [older.uuid, ...(random() < 0.2 ? [pick(documents).uuid] : [])]
    const { emisor, receptor } = random() < 0.85 ? older : (like ?? older)
    const fecha = `2026-0${pick([1, 2])}-${pick(['05', '12', '20', '27'])}T${pick(['00', '11', '23'])}:30:00`
    const newer: Plain = { ...(like ?? older), uuid: uuidFrom(random), emisor, receptor, fecha }
    // Beside its other relation, or instead of it.
    if (newer.relacion !== null && newer.relacion.tipo !== '04' && random() < 0.5) newer.sustituye = uuids
    else newer.relacion = { tipo: '04', uuids }
    documents.push(newer)
    if (random() < 0.25) older.sustituye = [newer.uuid]
  }
  return documents
}

/** What an organization has been given: by the authority, and by its own imports. */
interface Leased {
  authority: Map<string, Seen>
  import: Map<string, Seen>
}

/** Ingests some of the documents, and notes what is known of them now. */
async function bring(
  target: IngestTarget,
  stored: Map<string, Seen>,
  some: readonly Plain[],
  cancelled: ReadonlySet<string>,
  isXml: boolean,
) {
  const isImport = target.provenance === 'import'
  const rows = some.map((document) => reported(document, cancelled.has(document.uuid)))
  if (isXml) {
    const statuses = isImport ? new Map() : new Map(rows.map((row) => [row.uuid, row]))
    await all(ingestZip(target, packageOf(some), statuses))
  } else await all(ingestMetadata(target, () => [rows]))
  for (const document of some) {
    const isCancelled = cancelled.has(document.uuid) && !(isXml && isImport)
    const before = stored.get(document.uuid)
    if (before === undefined) stored.set(document.uuid, { document, hasXml: isXml, isCancelled })
    else if (isXml) before.hasXml = true
    else before.isCancelled ||= isCancelled
  }
}

const rowOf = (one: Seen) => ({ fecha: one.document.fecha, issued_at: instantOf(one) })

/** What counts together: what the authority delivered up to the ceiling of its direction, or everything that was imported. */
const alike = (stored: Leased, windows: Windows, origin: keyof Leased): Seen[] => {
  const isReached = ({ isEmpty, ceiling }: Window, one: Seen) => !isEmpty && (ceiling === null || instantOf(one) * 1_000 <= ceiling)
  const seen = [...stored[origin].values()]
  return origin === 'import' ? seen : seen.filter((one) => isReached(windows[directionOf(one)], one))
}

interface Sight {
  origin: keyof Leased
  /** What is seen. */
  shown: Seen[]
  /** What counts together with it, seen or not. */
  among: Seen[]
  counted: ReadonlySet<string>
}

/** What an organization sees with these windows. An import is seen until the authority's copy is. */
function sightsOf(stored: Leased, windows: Windows): Sight[] {
  const known = new Set<string>()
  return (['authority', 'import'] as const).map((origin) => {
    const among = alike(stored, windows, origin)
    const isShown = (one: Seen) => (origin === 'authority' ? shows(windows[directionOf(one)], rowOf(one)) : !known.has(one.document.uuid))
    const shown = among.filter(isShown)
    if (origin === 'authority') for (const { document } of shown) known.add(document.uuid)
    return { origin, shown, among, counted: countedAmong(among) }
  })
}

const HALF_UP = 1
const round = (amount: Big): Big => amount.round(6, HALF_UP)
const text = (amount: Big): string => amount.toFixed(2, HALF_UP).replace(/^-(0\.00)$/, '$1')
const rateOf = ({ moneda, tipo_cambio }: Plain): string | null => (moneda === 'MXN' || moneda === 'XXX' ? '1' : tipo_cambio)
const ZERO = new Big(0)
const sumOf = (amounts: readonly Big[]): Big => amounts.reduce((sum, amount) => sum.plus(amount), ZERO)

/** What documents apply to an invoice, whether it counts or not. */
function applicationsTo({ among, counted }: Sight, { document: invoice, hasXml: isKnown }: Seen) {
  return among
    .filter(({ hasXml }) => hasXml)
    .flatMap((source) => {
      const { document, isCancelled } = source
      const paid = document.pagos.flatMap(({ documentos }) => documentos.filter(({ uuid }) => uuid === invoice.uuid))
      const part = partsOf(source, among).get(invoice.uuid)
      const isOther = document.emisor !== invoice.emisor
      const credit = part === undefined ? null : creditOf(document, invoice, new Big(part.toString()).div(1_000_000), isKnown)
      const reasonOf = (isOtherParty: boolean, isOtherCurrency: boolean, isWithoutRate = false) =>
        isCancelled
          ? 'cancelled'
          : isOtherParty
            ? 'other_parties'
            : isOtherCurrency
              ? 'currency_mismatch'
              : isWithoutRate
                ? 'missing_rate'
                : counted.has(document.uuid)
                  ? null
                  : 'substituted'
      const warnings = !isOther && document.receptor !== invoice.receptor ? ['receiver_differs'] : []
      return [
        ...paid.map(({ pagado, moneda }) => ({
          ...{ source, kind: 'P', amount: new Big(pagado), warnings },
          // Metadata does not state the currency.
          reason: reasonOf(isOther, isKnown && moneda !== invoice.moneda),
        })),
        ...(part !== undefined
          ? [
              {
                ...{ source, kind: 'E', amount: credit ?? new Big(part.toString()).div(1_000_000), warnings: [] },
                reason: reasonOf(isOther || document.receptor !== invoice.receptor, false, credit === null),
              },
            ]
          : []),
      ]
    })
}

/** A part of a credit note in the invoice's currency; null when a rate is not known. */
function creditOf(note: Plain, invoice: Plain, amount: Big, isKnown: boolean): Big | null {
  if (!isKnown || note.moneda === invoice.moneda) return amount
  const [from, to] = [rateOf(note), rateOf(invoice)]
  return from === null || to === null ? null : round(round(amount.times(from)).div(to))
}

/** What every answer says of a document. */
function expectedOf(sight: Sight, one: Seen) {
  const { document, hasXml, isCancelled } = one
  const { uuid, total } = document
  const isSubstituted = !isCancelled && !sight.counted.has(uuid)
  const others = sight.among.filter((other) => !other.isCancelled && (isSubstitutedBy(one, other) || isSubstitutedBy(other, one)))
  const status = {
    uuid,
    origin: sight.origin,
    estatus: isCancelled ? 'cancelado' : 'vigente',
    is_substituted: isSubstituted,
    substituted_not_cancelled: !isCancelled && others.length > 0,
  }
  const balance = (payment_status: string, paid: Big | null, credited: Big | null) => {
    const left = paid && credited && new Big(total).minus(paid).minus(credited)
    return {
      ...status,
      ...{ payment_status, paid_amount: paid && text(paid), credited_amount: credited && text(credited) },
      balance: left && text(left.lt(0) ? ZERO : left),
    }
  }
  // Metadata does not state how an invoice is paid.
  if (document.tipo !== 'I' || !hasXml) return balance('not_applicable', null, null)
  if (document.metodo === 'PUE') return balance('paid', new Big(total), ZERO)
  const counted = applicationsTo(sight, one).filter(({ reason }) => reason === null)
  const [paid, credited] = ['P', 'E'].map((kind) => sumOf(counted.filter((it) => it.kind === kind).map(({ amount }) => amount))) as [
    Big,
    Big,
  ]
  const left = new Big(total).minus(paid).minus(credited)
  return balance(left.lt('0.005') ? 'paid' : paid.plus(credited).gt(0) ? 'partially_paid' : 'unpaid', paid, credited)
}

type Counted = { one: Seen; state: 'vigente' | 'cancelado' | 'sustituido' }

/** The documents of the population, each as cancelled, as substituted, or as one that counts. */
const populationOf = (sights: readonly Sight[]): Counted[] =>
  sights.flatMap(({ shown, counted }) =>
    shown
      .filter(({ document }) => document.emisor !== document.receptor)
      .map((one) => ({ one, state: one.isCancelled ? 'cancelado' : counted.has(one.document.uuid) ? 'vigente' : 'sustituido' })),
  )

const inPesos = ({ document, hasXml }: Seen, amount: string): Big => {
  const rate = hasXml ? rateOf(document) : null
  return rate === null ? ZERO : round(new Big(amount).times(rate))
}

function expectedMonth(population: readonly Counted[], month: string, direction: string) {
  const of = population.filter(({ one }) => one.document.fecha.startsWith(month) && directionOf(one) === direction)
  const valid = of.filter(({ state }) => state === 'vigente').map(({ one }) => one)
  const sum = (amount: (document: Plain) => string, tipo = 'I', metodo?: string) =>
    sumOf(
      valid
        .filter(({ document, hasXml }) => document.tipo === tipo && (metodo === undefined || (hasXml && document.metodo === metodo)))
        .map((one) => inPesos(one, amount(one.document))),
    )
  const credit_notes = sum(({ subtotal }) => subtotal, 'E')
  return {
    count: valid.length,
    cancelled_count: of.filter(({ state }) => state === 'cancelado').length,
    substituted_count: of.filter(({ state }) => state === 'sustituido').length,
    subtotal: text(sum(({ subtotal }) => subtotal)),
    iva_trasladado: text(sum(({ iva }) => iva)),
    total: text(sum(({ total }) => total)),
    credit_notes: text(credit_notes),
    credit_notes_iva: text(sum(({ iva }) => iva, 'E')),
    net: text(sum(({ subtotal }) => subtotal).minus(credit_notes)),
    pue_total: text(sum(({ total }) => total, 'I', 'PUE')),
    ppd_total: text(sum(({ total }) => total, 'I', 'PPD')),
  }
}

async function listed(ctx: Ctx, query: Record<string, string> = {}): Promise<Cfdi[]> {
  const found: Cfdi[] = []
  for (let cursor: string | null = null; ; ) {
    const asked = CfdiSearch.parse({ fiscal_entity_id: FISCAL_ENTITY, limit: '100', ...query, ...(cursor !== null && { cursor }) })
    const page: Awaited<ReturnType<typeof searchCfdi>> = await searchCfdi(ctx, asked)
    found.push(...page.data)
    if (!page.has_more) return found
    cursor = page.next_cursor
  }
}

/** How often something was there to be told, so that no rule goes untried. */
const notified: Record<string, number> = {
  ...{
    substituted: 0,
    restored: 0,
    other_parties: 0,
    currency_mismatch: 0,
    missing_rate: 0,
    receiver_differs: 0,
    cancelled: 0,
    imports: 0,
    paid: 0,
  },
}

async function check(ctx: Ctx, stored: Leased, pick: Pick): Promise<void> {
  const windows = windowsOf(ctx.organization.extractor_count, ctx.connection!)
  const sights = sightsOf(stored, windows)
  const expected = sights.flatMap((sight) => sight.shown.map((one) => expectedOf(sight, one)))
  const byUuid = <T extends { uuid: string }>(list: readonly T[]) => [...list].sort((a, b) => (a.uuid < b.uuid ? -1 : 1))
  const found = await listed(ctx)
  expect(
    byUuid(found).map((one) => {
      const { uuid, origin, estatus, is_substituted, substituted_not_cancelled, payment_status, paid_amount, credited_amount, balance } =
        one
      return { uuid, origin, estatus, is_substituted, substituted_not_cancelled, payment_status, paid_amount, credited_amount, balance }
    }),
  ).toEqual(byUuid(expected))
  const payment_status = pick(['paid', 'unpaid', 'partially_paid'])
  const uuidsOf = (list: readonly { uuid: string }[]) => list.map(({ uuid }) => uuid).sort()
  expect(uuidsOf(await listed(ctx, { payment_status }))).toEqual(uuidsOf(expected.filter((one) => one.payment_status === payment_status)))

  const population = populationOf(sights)
  const query = { fiscal_entity_id: FISCAL_ENTITY, from: '2025-12', to: '2026-03' }
  const { data, data_quality } = await summarizeMonths(ctx, MonthlySummaryQuery.parse(query))
  for (const { month, direction, ...row } of data) expect(row).toMatchObject(expectedMonth(population, month, direction))
  expect(data_quality).toMatchObject({
    cfdi_total: population.length,
    missing_rate: population.filter(({ one, state }) => state === 'vigente' && !(one.hasXml && rateOf(one.document) !== null)).length,
  })
  // What a row leads to is what it counts.
  const row = pick(data)
  if (row) {
    const counts = ({ one, state }: Counted) =>
      state === 'vigente' && one.document.fecha.startsWith(row.month) && directionOf(one) === row.direction
    const search = Object.fromEntries(new URL(row.drilldown, 'https://service').searchParams)
    expect(uuidsOf(await listed(ctx, search))).toEqual(uuidsOf(population.filter(counts).map(({ one }) => one.document)))
  }

  const bought = population.filter(
    ({ one, state }) => state === 'vigente' && directionOf(one) === 'received' && ['I', 'E'].includes(one.document.tipo),
  )
  const { suppliers } = await sumSuppliers(openLedger(ctx), { from: '2025-12', to: '2026-03' }, ctx.now.getTime())
  const amounts = Map.groupBy(bought, ({ one }) => one.document.emisor)
  expect(Object.fromEntries([...suppliers].map(([rfc, { amount }]) => [rfc, new Big(amount.toString()).div(1e6).toFixed()]))).toEqual(
    Object.fromEntries(
      [...amounts].map(([rfc, of]) => [
        rfc,
        sumOf(of.map(({ one }) => inPesos(one, one.document.total).times(one.document.tipo === 'I' ? 1 : -1))).toFixed(),
      ]),
    ),
  )

  const invoices = sights.flatMap((sight) => sight.shown.filter(({ document }) => document.tipo === 'I').map((one) => ({ sight, one })))
  for (const { sight, one } of [pick(invoices), pick(invoices)].filter(Boolean)) {
    const isListed = (source: Seen) => sight.origin === 'import' || shows(windows[directionOf(source)], rowOf(source))
    const key = (...parts: unknown[]) => JSON.stringify(parts)
    const applications = applicationsTo(sight, one).filter(({ source }) => isListed(source))
    const answered = await listPayments(ctx, one.document.uuid)
    expect(
      answered.data.map((it) => key(it.source_uuid, it.kind, it.amount, it.counts, it.not_counted_reason, it.warnings)).sort(),
    ).toEqual(
      applications
        .map(({ source, kind, amount, reason, warnings }) =>
          key(source.document.uuid, kind, text(amount), reason === null, reason, warnings),
        )
        .sort(),
    )
    for (const { reason, warnings } of applications) {
      for (const what of [...(reason === null ? [] : [reason]), ...warnings]) notified[what] = notified[what]! + 1
    }
  }
  const full = countedAmong(alike(stored, windowsOf(0, ctx.connection!), 'authority'))
  notified['restored']! += sights[0]!.shown.filter(
    (one) => !one.isCancelled && !full.has(one.document.uuid) && sights[0]!.counted.has(one.document.uuid),
  ).length
  notified['imports']! += sights[1]!.shown.length
  notified['paid']! += expected.filter((one) => one.payment_status === 'paid').length
}

beforeAll(async () => {
  await applyD1Migrations(env.DB, env.CONTROL_MIGRATIONS)
  await applyD1Migrations(env.LEDGER_0, env.LEDGER_MIGRATIONS)
})

/** A history, and what three organizations read of it: one without extractors, one with one window, one with two. */
async function liveThrough(seed: number): Promise<void> {
  const random = randomOf(seed * 104_729)
  const pick: Pick = (list) => list[Math.floor(random() * list.length)]!
  const documents = documentsOf(random, pick)
  const target = newBook()
  const own: IngestTarget = { ...target, entity: -target.entity, provenance: 'import' }
  const stored: Leased = { authority: new Map(), import: new Map() }
  const cancelled = new Set<string>()
  for (let step = 0; step < 6; step++) {
    for (const { uuid } of documents) if (random() < 0.06) cancelled.add(uuid)
    const some = documents.filter(() => random() < 0.45).sort(() => random() - 0.5)
    const isImport = random() < 0.25
    await bring(isImport ? own : target, isImport ? stored.import : stored.authority, some, cancelled, random() < 0.7)
  }
  const instants = documents.map((document) => instantOf({ document, hasXml: true, isCancelled: false }) * 1_000)
  const grantedRange = (): GrantedRange =>
    random() < 0.1 ? null : [`2026-01-${pick(['01', '01', '05', '12'])}`, pick(instants) + pick([0, 0, -1_000, 86_400_000])]
  const connection = { entity: target.entity, connection: target.entity, imported_at: stored.import.size > 0 ? 1 : null }
  for (const windows of [null, reaching(grantedRange()), reaching(grantedRange(), grantedRange())]) {
    const ctx = contextOf({ ...connection, ...windows }, { extractor_count: windows === null ? 0 : 1 })
    try {
      await check(ctx, stored, pick)
    } catch (error) {
      throw new Error(`History ${seed}, windows ${JSON.stringify(windows)}: ${(error as Error).message}`, { cause: error })
    }
  }
}

const TEN = Array.from({ length: 10 }, (_, n) => n)

describe('every list, balance, month, supplier and payment is what the visible documents add up to', () => {
  it.each(Array.from({ length: runs(30, 2_000) / TEN.length }, (_, n) => n))('through ten random histories (%i)', async (batch) => {
    for (const n of TEN) await liveThrough(batch * TEN.length + n + 1)
  })

  it('and in them each rule had something to say', () => {
    for (const [what, times] of Object.entries(notified)) expect([what, times > 0]).toEqual([what, true])
  })
})

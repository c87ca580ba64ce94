import { applyD1Migrations, env } from 'cloudflare:test'
import { beforeAll, expect, it } from 'vitest'
import type { CoverageMonth, MissingXmlDocument } from '../../../src/downloads/completeness/contract.ts'
import { CoverageQuery } from '../../../src/downloads/completeness/contract.ts'
import { listCoverage, listMissingXml } from '../../../src/downloads/completeness/coverage.ts'
import type { Ctx } from '../../../src/platform/context.ts'
import type { Page } from '../../../src/platform/paging/cursor.ts'
import { coverageAfter, type MonthCoverage } from '../../../src/taxpayers/visibility/coverage.ts'
import { documents, insertCfdi, insertMonths, monthsOf, type Row } from '../../cfdi/support/ledger.ts'
import { contextOf, RFC, reaching } from '../../support/context.ts'
import { runs } from '../../support/fuzz.ts'
import { grantedRangesOf, type Kept, rangesOf } from '../../support/granted-ranges.ts'
import { randomOf, uuidFrom } from '../../support/random.ts'

beforeAll(async () => {
  await applyD1Migrations(env.DB, env.CONTROL_MIGRATIONS)
  await applyD1Migrations(env.LEDGER_0, env.LEDGER_MIGRATIONS)
})

const SOURCES = ['sat_cfdi_issued', 'sat_cfdi_received'] as const
type Source = (typeof SOURCES)[number]
const MONTHS = ['2025-11', '2025-12', '2026-01', '2026-02', '2026-03']
const ORGANIZATIONS = ['org_01kabcdefghjkmnpqrstvwxyza', 'org_01kabcdefghjkmnpqrstvwxyzb'] as const
const HOUR = 3_600_000
const DAY = 24 * HOUR

/** A download of a source and month as it happened. */
interface Download {
  source: Source
  month: string
  job_id: string
  as_of: number
  by: Set<string>
  rejected: { uuid: string; code: string; row: Row | null }[]
  ended: { at: number; outcome: 'complete' | 'incomplete' | 'failed' } | null
}

interface Run {
  at: number
  floor: string
  /** The last day of a run that was asked for a range of days alone. */
  to: string | null
  sources: readonly Source[]
  downloads: Download[]
}

interface World {
  entity: number
  rows: Row[]
  downloads: Download[]
  runs: Record<string, Run[]>
  coverage: Record<Source, Record<string, MonthCoverage>>
  now: number
}

const sideOf = (source: Source): 0 | 1 => (source === 'sat_cfdi_issued' ? 0 : 1)

/** A taxpayer with two organizations whose runs, and the ends of whose downloads, come in any order. */
function worldOf(seed: number, entity: number): World {
  const random = randomOf(seed)
  const below = (limit: number) => Math.floor(random() * limit)
  // In some worlds hardly anything lacks its XML.
  const share = random() < 0.5 ? 0.02 : 0.4
  const rows = documents(500_000 + seed, 20 + below(50), '2025-11-01', 128, entity).map((row): Row => {
    const isMetadata = random() < share
    const kind = random() < 0.15 ? { kind: 'retenciones' as const, tipo_comprobante: null, metodo_pago: null } : {}
    return { ...row, ...kind, ...(isMetadata && { version: null }) }
  })
  const world: World = { entity, rows, downloads: [], runs: {}, coverage: { sat_cfdi_issued: {}, sat_cfdi_received: {} }, now: 0 }
  for (const organization of ORGANIZATIONS) world.runs[organization] = []
  let now = Date.parse('2026-01-03T06:00:00Z')
  for (let step = 0; step < 10; step++) {
    now += 1 + below(random() < 0.3 ? 2 * HOUR : 11 * DAY)
    if (now > Date.parse('2026-03-09T00:00:00Z')) break
    const open = world.downloads.filter(({ ended }) => ended === null)
    if (open.length > 0 && random() < 0.7) {
      for (const download of open.filter(() => random() < 0.7)) end(world, download, now, random)
      continue
    }
    const organization = ORGANIZATIONS[below(2)]!
    const floor = ['2025-11-01', '2025-11-17', '2025-12-01', '2025-12-24', '2026-01-01'][below(5)]!
    const sources = random() < 0.7 ? SOURCES : [SOURCES[below(2)]!]
    const to = random() < 0.25 ? ['2025-11-30', '2025-12-31', '2026-01-15', '2026-02-10'].find((day) => day >= floor)! : null
    const run = { at: now, floor, to, sources }
    world.runs[organization]!.push({ ...run, downloads: requested(world, organization, run) })
  }
  world.now = now
  return world
}

function requested(world: World, organization: string, { floor, to, sources, at: now }: Omit<Run, 'downloads'>) {
  const today = new Date(now - 5 * HOUR).toISOString()
  const last = (to !== null && to < today ? to : today).slice(0, 7)
  return sources.flatMap((source) =>
    MONTHS.filter((month) => month >= floor.slice(0, 7) && month <= last).map((month) => {
      const open = world.downloads.find((one) => one.source === source && one.month === month && one.ended === null)
      const job_id = `job${String(world.downloads.length).padStart(8, '0')}`
      const download: Download = open ?? { source, month, job_id, as_of: now, by: new Set(), rejected: [], ended: null }
      if (!open) world.downloads.push(download)
      download.by.add(organization)
      return download
    }),
  )
}

function end(world: World, download: Download, now: number, random: () => number): void {
  const { source, month } = download
  const known = world.rows.filter((row) => row.direction === sideOf(source) && row.fecha.startsWith(month) && row.version === null)
  if (random() < 0.4) {
    for (const row of known) if (random() < 0.3) download.rejected.push({ uuid: row.uuid, code: 'cfdi.malformed', row })
    if (random() < 0.5) download.rejected.push({ uuid: uuidFrom(random), code: 'metadata.invalid_date', row: null })
  }
  const outcome = download.rejected.length > 0 ? 'incomplete' : random() < 0.7 ? 'complete' : random() < 0.5 ? 'failed' : 'incomplete'
  download.ended = { at: now, outcome }
  const months = world.coverage[source]
  months[month] = coverageAfter(months[month] ?? [], month, { outcome, as_of: download.as_of, until: now })
}

/** Stores the world as downloads leave it. */
async function store({ entity, rows, downloads, runs: all, coverage }: World): Promise<void> {
  const ledger = env.LEDGER_0
  await insertCfdi(ledger, rows)
  await insertMonths(ledger, monthsOf(rows))
  const left = downloads.filter(({ ended }) => ended === null).map(({ source, month, job_id }) => [source, month, job_id])
  const rejectedOf = (one: Download) =>
    one.rejected.map(({ uuid, code, row }) => ({
      name: `${uuid}.xml`,
      line: null,
      code,
      uuid,
      fecha: row?.fecha,
      issued_at: row?.issued_at,
    }))
  await ledger.batch([
    ledger.prepare('insert into entities (entity, rfc, organization_id) values (?, ?, ?)').bind(entity, RFC, ORGANIZATIONS[0]),
    ledger.prepare('insert into sync_work (entity, jobs, due_at) values (?, ?, 0)').bind(entity, JSON.stringify(left)),
    ...SOURCES.map((source) =>
      ledger
        .prepare('insert into coverage (entity, source, months) values (?, ?, ?)')
        .bind(entity, source, JSON.stringify(coverage[source])),
    ),
    ...downloads.map((one) =>
      ledger
        .prepare(
          `insert into sync_jobs (entity, source, month, job_id, organizations, open, as_of, not_before, attempts, created_after, finished_after,
             error_class, created_count, updated_count, cancelled_count, rejected_count, rejected_files)
           values (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, ?8, 0, ?9, ?10, 0, 0, 0, ?11, ?12)`,
        )
        .bind(
          ...[entity, one.source, one.month, one.job_id, JSON.stringify([...one.by]), one.ended ? 0 : 1, one.as_of, one.ended ? 1 : 0],
          ...[one.ended ? one.ended.at - one.as_of : null, one.ended?.outcome === 'failed' ? 'sat_unavailable' : null],
          ...[one.rejected.length, one.rejected.length === 0 ? null : JSON.stringify(rejectedOf(one))],
        ),
    ),
    ...Object.entries(all).flatMap(([organization, own]) =>
      own.map(({ at, downloads: asked }, n) => {
        const jobs: Record<string, Record<string, string[]>> = {}
        for (const { source, month, job_id } of asked) jobs[job_id] = { [source]: [month] }
        return ledger
          .prepare(
            `insert into extractions (organization_id, entity, run_id, instant, jobs, dispatched, requested_at, attempts_before)
             values (?, ?, ?, ?, jsonb(?), 1, ?, '{}')`,
          )
          .bind(organization, entity, `run_${String(n).padStart(3, '0')}`, at, JSON.stringify(jobs), at)
      }),
    ),
  ])
}

interface Seen {
  first: string
  last: string
  floor: string
  ceiling: number
}

/** What the runs of an organization reached of a source. Null when none did. */
function seenBy(own: readonly Run[], source: Source): Seen | null {
  const ran = own.filter(({ sources }) => sources.includes(source))
  if (ran.length === 0) return null
  const [floor, ceiling] = [ran.map((one) => one.floor).sort()[0]!, Math.max(...ran.map(({ at }) => at))]
  return { floor, ceiling, first: floor.slice(0, 7), last: new Date(ceiling - 5 * HOUR).toISOString().slice(0, 7) }
}

function contextFor({ entity, runs: all, now }: World, organization: string): Ctx {
  const own = all[organization]!
  const grantedRange = (source: Source) => {
    const seen = seenBy(own, source)
    return seen && ([seen.floor, seen.ceiling] as const)
  }
  const kept = (source: Source) =>
    grantedRangesOf(own.filter(({ sources }) => sources.includes(source)).map(({ at, floor }): Kept => [at, floor]))
  return contextOf(
    {
      ...{ entity, ...reaching(grantedRange('sat_cfdi_issued'), grantedRange('sat_cfdi_received')) },
      ...{ issued_granted_ranges: kept('sat_cfdi_issued'), received_granted_ranges: kept('sat_cfdi_received') },
      asked_ranges: rangesOf(own.flatMap(({ at, floor, to }) => (to === null ? [] : [[at, floor, to] as const]))),
    },
    { organization, extractor_count: 1, now: new Date(now) },
  )
}

/** What is to be said of a month, one document and one run at a time. */
/** What a month is told to lack when its last download succeeded. */
const wordsOfPartial = (rejected: number, missingXml: number): string =>
  rejected > 0
    ? 'rejected: Some of what the tax authority delivered could not be kept. The list of the month says what, and why.'
    : missingXml > 0
      ? 'xml_not_delivered_yet: The tax authority announces documents whose XML is not held. The next run asks for what it has not delivered.'
      : 'incomplete: Not everything of the month has come up to your last run. The next run that covers the month asks for the rest.'

function expectedOf({ rows, runs: all }: World, organization: string, source: Source, month: string, seen: Seen) {
  const direction = sideOf(source)
  const visible = rows.filter(
    (row) => row.direction === direction && row.fecha.startsWith(month) && row.fecha >= seen.floor && row.issued_at * 1_000 <= seen.ceiling,
  )
  const bare = visible.filter(({ version }) => version === null)
  const missingXml = bare.filter(({ estatus }) => direction === 0 || estatus !== 'cancelado').length
  const answers = all[organization]!.flatMap(({ at, downloads }) =>
    downloads.filter((one) => one.source === source && one.month === month).map((download) => ({ at, download })),
  )
  const answered = answers.flatMap(({ at, download }) => (download.ended ? [{ at, outcome: download.ended.outcome }] : []))
  const isOpen = answers.some(({ download }) => download.ended === null)
  const over = Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)), 1, 8)
  const after = (from: number) => answered.findLast(({ at, outcome }) => at >= from && outcome !== 'failed')
  const last = seen.ceiling >= over + 3 * DAY ? after(over + 3 * DAY) : seen.ceiling >= over ? after(over) : answered.at(-1)
  // A later run raised the ceiling above what is answered.
  const isAhead = seen.ceiling < over && (answered.at(-1)?.at ?? seen.ceiling) < seen.ceiling - HOUR / 12
  const brought = answered.findLast(({ outcome }) => outcome !== 'failed')
  const status =
    last?.outcome === 'complete' && missingXml === 0 && !isAhead
      ? 'complete'
      : isOpen
        ? 'requested'
        : missingXml > 0 || brought?.outcome === 'incomplete' || (isAhead && brought)
          ? 'partial'
          : 'missing'
  const success = answered.findLast(({ outcome }) => outcome === 'complete')
  const job = answers.at(-1)?.download
  const month_: CoverageMonth = {
    ...{ source, month, status },
    visible_from: seen.floor > `${month}-01` ? seen.floor : `${month}-01`,
    visible_to: seen.ceiling < over ? new Date(seen.ceiling).toISOString() : null,
    announced_count: visible.length,
    held_count: visible.length - missingXml,
    with_xml_count: visible.length - bare.length,
    metadata_only_count: bare.length,
    rejected_count: job?.ended ? job.rejected.length : 0,
    last_code:
      job?.ended?.outcome === 'failed'
        ? 'sat_unavailable: The tax authority was not available, or did not deliver what it was asked for.'
        : status === 'partial'
          ? wordsOfPartial(job?.ended ? job.rejected.length : 0, missingXml)
          : null,
    attempts: job?.ended ? 1 : 0,
    ...{ waiting_since: null, next_check_at: null },
    last_success_at: success ? new Date(success.at).toISOString() : null,
  }
  const rejected = new Map((job?.ended ? job.rejected : []).map(({ uuid, code }) => [uuid, code]))
  const why = ({ uuid, estatus }: Row): string =>
    direction === 1 && estatus === 'cancelado'
      ? 'cancelled_received'
      : rejected.has(uuid)
        ? 'rejected cfdi.malformed'
        : isOpen
          ? 'requested'
          : 'xml_not_delivered_yet'
  const listed = [
    ...(job?.ended ? job.rejected : [])
      .filter(({ row }) => row === null)
      .map(({ uuid, code }) => `${uuid} rejected ${code}`)
      .sort(),
    ...bare.toSorted((a, b) => a.issued_at - b.issued_at || (a.uuid < b.uuid ? -1 : 1)).map((row) => `${row.uuid} ${why(row)}`),
  ]
  return { month: month_, listed }
}

async function pagesOf<T>(read: (cursor: string | undefined) => Promise<Page<T>>): Promise<T[]> {
  const all: T[] = []
  for (let cursor: string | undefined; ; ) {
    const page = await read(cursor)
    all.push(...page.data)
    if (!page.has_more) return all
    cursor = page.next_cursor!
  }
}

/** What breaks without it: a customer takes what is missing for held, or learns what another organization downloaded. */
it('coverage says what all that happened to the documents and downloads says, to each of two organizations', async () => {
  const seenStatuses: Record<string, number> = {}
  let listed = 0
  for (let n = 0; n < runs(16, 600); n++) {
    const world = worldOf(1_000 + n, 20 + n)
    await store(world)
    for (const organization of ORGANIZATIONS) {
      const ctx = contextFor(world, organization)
      const expected = SOURCES.flatMap((source) => {
        const seen = seenBy(world.runs[organization]!, source)
        if (seen === null) return []
        return MONTHS.filter((month) => month >= seen.first && month <= seen.last).map((month) =>
          expectedOf(world, organization, source, month, seen),
        )
      }).sort((a, b) =>
        a.month.month === b.month.month ? (a.month.source < b.month.source ? -1 : 1) : a.month.month < b.month.month ? 1 : -1,
      )
      const limit = String(1 + (n % 7))
      const notified = await pagesOf((cursor) => listCoverage(ctx, CoverageQuery.parse({ limit, ...(cursor && { cursor }) })))
      expect(notified, `seed ${1_000 + n}`).toEqual(expected.map(({ month }) => month))
      for (const { month, listed: documentsOf } of expected) {
        seenStatuses[month.status] = (seenStatuses[month.status] ?? 0) + 1
        const { source, month: of } = month
        const rows = await pagesOf<MissingXmlDocument>((cursor) => listMissingXml(ctx, { source, month: of }, { limit: 5, cursor }))
        expect(rows.map(({ uuid, why, code }) => [uuid, why, ...(code ? [code] : [])].join(' '))).toEqual(documentsOf)
        listed += rows.length
      }
    }
  }
  for (const status of ['complete', 'partial', 'requested', 'missing']) expect(seenStatuses[status], status).toBeGreaterThan(3)
  expect(listed).toBeGreaterThan(100)
})

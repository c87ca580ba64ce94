import { listedOf } from '../../lists/listed/counterparties.ts'
import type { Ctx } from '../../platform/context.ts'
import { notFound } from '../../platform/failures.ts'
import { type CursorScope, openCursor, type Page, sealCursor } from '../../platform/paging/cursor.ts'
import { centralDayOf } from '../../platform/time/months.ts'
import { boundsOf, openLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import { checkOf } from '../checks/checks.ts'
import { findDetailed } from '../detail/detail.ts'
import { findCfdi } from '../detail/store.ts'
import { view } from '../read-row.ts'
import { findPage, planned } from '../search/store.ts'
import { isSubstituted } from '../totals.ts'
import type { CfdiHistory, CfdiRelation, HistoryEvent, KnownDay, RelationsQuery } from './contract.ts'
import { findReferrers, readTimes } from './store.ts'

type Named = Omit<CfdiRelation, 'cfdi'>

const keyOf = ({ relation, uuid }: Named): string => `${relation} ${uuid}`
const isBehind = (one: Named, [relation, uuid]: readonly [string, string]): boolean => keyOf(one) > `${relation} ${uuid}`

/**
 * Returns what a document refers to, then what refers to it, within the windows. At most three calls. Throws Failure 404 cfdi.not_found when the
 * document is absent or not visible.
 */
export async function listRelations(ctx: Ctx, uuid: string, { limit, cursor }: RelationsQuery): Promise<Page<CfdiRelation>> {
  const ledger = openLedger(ctx)
  const scope: CursorScope = { list: 'cfdi.relations', filters: { uuid, fiscal_entity_id: ledger.fiscal_entity_id } }
  const [side, ...checkpoint] = ((await openCursor(ctx, scope, cursor)) ?? []) as string[]
  const after = checkpoint.length === 2 ? (checkpoint as [string, string]) : null
  const found = await findDetailed(ctx, ledger, uuid, ({ relacionados, pagos }) => ({ relacionados, pagos }))
  if (!found) throw notFound('cfdi')
  const { relacionados, pagos } = found
  const refers = (relation: string, other: string): Named => ({ side: 'refers_to', relation, uuid: other.toUpperCase() })
  const stated = [
    ...relacionados.map((one) => refers(one.tipo_relacion, one.uuid)),
    ...pagos.flatMap(({ documentos }) => documentos.map((one) => refers('pago', one.uuid))),
    ...(found.row.folio_sustitucion ? [refers('cancelacion', found.row.folio_sustitucion)] : []),
  ]
  const own = [...new Map(stated.map((one) => [keyOf(one), one])).values()]
    .sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
    .filter((one) => side === undefined || (side === 'refers_to' && after !== null && isBehind(one, after)))
  const take = limit + 1
  const others = own.length >= take ? [] : await findReferrers(ledger, uuid, side === 'referred_by' ? after : null, take - own.length)
  const named = [...own, ...others.map((one): Named => ({ side: 'referred_by', ...one }))]
  const page = named.slice(0, limit)
  const last = named.length > limit ? page.at(-1)! : null
  const asked = { ledger, filters: { uuid: [...new Set(page.map((one) => one.uuid))] }, isMatch: () => true }
  const start = { after: undefined, isAscending: false }
  const { items } = page.length === 0 ? { items: [] } : await findPage(asked, planned(asked), start, page.length)
  const listed = await listedOf(ctx)
  const rows = new Map(items.map(({ row, context }) => [row.uuid, view(row, context, listed)]))
  return {
    data: page.map((one) => ({ ...one, cfdi: rows.get(one.uuid) ?? null })),
    has_more: last !== null,
    next_cursor: last && (await sealCursor(ctx, scope, [last.side, last.relation, last.uuid])),
  }
}

const iso = (milliseconds: number | null): string | null => (milliseconds === null ? null : new Date(milliseconds).toISOString())

type Notified = Omit<HistoryEvent, 'at' | 'known_at'> & { at: number | null; known_at: number | null }

const NOTHING = { known_at: null, uuid: null, status_answer: null } as const

/**
 * Returns what happened to a document, and since when the organization could know of it: never before its own runs first reached the document,
 * whoever downloaded it before. Two calls. Throws Failure 404 cfdi.not_found when the document is absent or not visible.
 */
export async function getHistory(ctx: Ctx, uuid: string): Promise<CfdiHistory> {
  const ledger = openLedger(ctx)
  const found = await findCfdi(ledger, uuid)
  const times = found && (await readTimes(ledger, found.partition, uuid))
  if (!found || !times) throw notFound('cfdi')
  const { row, partition } = found
  const reached = partition.changesFrom(row)
  const since = (at: number | null): number | null => (at === null ? null : Math.max(at, reached))
  const local = (text: string): number => Date.parse(`${text}Z`) - row.utc_offset * 60_000
  const isCompleted = times.is_completed === 1
  const hasXml = row.has_xml === 1
  const isCancelled = row.estatus === 'cancelado'
  const xml_at = isCompleted ? times.xml_at : null
  // Its last change is its cancellation, unless that came before its XML.
  const stored_at = times.stored_at ?? (isCompleted || isCancelled ? null : row.updated_at)
  const found_at =
    isCancelled && row.updated_at !== xml_at && row.updated_at !== stored_at ? row.updated_at : isCancelled ? stored_at : null
  const until = boundsOf(partition, row.direction)?.until ?? null
  const substitute = isSubstituted(row, until) ? substituteIn(times.substitutes) : null
  const check = checkOf(row.status_checks, ledger.fiscal_entity_id)
  const events: Notified[] = [
    { event: 'issued', at: row.issued_at * 1_000, ...NOTHING },
    ...(row.certified_at === null ? [] : [{ event: 'certified' as const, at: local(row.certified_at), ...NOTHING }]),
    { event: 'stored', at: since(stored_at), ...NOTHING, known_at: since(stored_at) },
    ...(isCompleted ? [{ event: 'xml' as const, at: since(xml_at), ...NOTHING, known_at: since(xml_at) }] : []),
    ...(substitute === null
      ? []
      : [
          {
            ...{ event: 'substituted' as const, at: substitute.issued_at * 1_000, ...NOTHING, uuid: substitute.uuid },
            known_at:
              substitute.committed_at === null ? null : Math.max(substitute.committed_at, reached, partition.changesFrom(substitute)),
          },
        ]),
    ...(isCancelled
      ? [
          {
            ...{ event: 'cancelled' as const, at: row.cancelled_at === null ? null : Date.parse(row.cancelled_at), ...NOTHING },
            ...{ uuid: row.folio_sustitucion, known_at: since(found_at) },
          },
        ]
      : []),
    ...(check === undefined
      ? []
      : [
          {
            event: 'status_check' as const,
            ...NOTHING,
            at: check[0],
            known_at: check[0],
            status_answer: check[1] as HistoryEvent['status_answer'],
          },
        ]),
  ]
  const rank = ({ at, known_at }: Notified): number => at ?? known_at ?? Number.MAX_SAFE_INTEGER
  return {
    uuid,
    events: events.toSorted((a, b) => rank(a) - rank(b)).map((one) => ({ ...one, at: iso(one.at), known_at: iso(one.known_at) })),
    known: knownDays(events, hasXml && !isCompleted),
  }
}

interface Substitute {
  uuid: string
  issued_at: number
  committed_at: number | null
  direction: number
  fecha: string
}

/** The first one that substitutes it. */
function substituteIn(text: string): Substitute | null {
  const all = (JSON.parse(text) as [string, number, number | null, number, string][]).map(
    ([uuid, issued_at, committed_at, direction, fecha]): Substitute => ({ uuid, issued_at, committed_at, direction, fecha }),
  )
  return all.sort((a, b) => a.issued_at - b.issued_at || (a.uuid < b.uuid ? -1 : 1))[0] ?? null
}

/** The state that could be known at the end of days, by the known instants. */
function knownDays(events: readonly Notified[], hasXml: boolean): KnownDay[] {
  const days = new Map<string, KnownDay>()
  let state: Omit<KnownDay, 'day'> = { estatus: 'vigente', has_xml: hasXml, is_substituted: false }
  for (const { event, known_at, status_answer } of events.toSorted((a, b) => (a.known_at ?? 0) - (b.known_at ?? 0))) {
    if (known_at === null) continue
    const isCancelled = event === 'cancelled' || status_answer === 'cancelado'
    state = {
      estatus: isCancelled ? 'cancelado' : state.estatus,
      has_xml: state.has_xml || event === 'xml',
      is_substituted: !isCancelled && state.estatus === 'vigente' && (state.is_substituted || event === 'substituted'),
    }
    const day = centralDayOf(known_at)
    days.set(day, { day, ...state })
  }
  const list = [...days.values()]
  return list.filter((one, n) => n === 0 || JSON.stringify({ ...one, day: '' }) !== JSON.stringify({ ...list[n - 1], day: '' }))
}

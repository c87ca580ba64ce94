import type { ComplianceOpinion } from '../authority/port/fields-contract.ts'
import { rulesAt } from '../authority/rules/rules.ts'
import type { Ctx } from '../platform/context.ts'
import { readRows } from '../platform/db/statement.ts'
import { openCursor, type Page, sealCursor } from '../platform/paging/cursor.ts'
import { epochDayOf } from '../platform/time/calendar.ts'
import { centralDayOf, lastDayOf } from '../platform/time/months.ts'
import { isReadable } from '../taxpayers/connection.ts'
import { listConnections } from '../taxpayers/taxpayers.ts'
import { combinedWindowOf, type Windows, windowsOf } from '../taxpayers/visibility/window.ts'
import type { PortfolioObligation, PortfolioObligationQuery, PortfolioOpinion, PortfolioOpinionQuery } from './contract.ts'
import { obligationsOf } from './obligations/obligations-of.ts'
import { readRegistrations } from './obligations/store.ts'
import { type DocumentReader, latestOpinions } from './store.ts'

interface Client extends DocumentReader, Pick<PortfolioOpinion, 'fiscal_entity_id' | 'rfc' | 'name'> {
  connection: number
  windows: Windows
}

/**
 * Returns what `read` says of the next `limit` connections of the organization, by fiscal_entity_id. It is called once for each ledger, with the
 * connections that may be read.
 */
export async function clientPage<Row extends { fiscal_entity_id: string }>(
  ctx: Ctx,
  list: string,
  query: { limit: number; cursor?: string | undefined; month?: string },
  read: (ledger: D1Database, clients: readonly Client[]) => Promise<Row[]>,
): Promise<Page<Row>> {
  const { db, organization, settings } = ctx
  const scope = { list, filters: query }
  const [after] = ((await openCursor(ctx, scope, query.cursor)) ?? []).map(String)
  const found = await listConnections(db, organization, after, query.limit + 1)
  const rows = found.slice(0, query.limit)
  const has_more = found.length > rows.length
  const shards = Map.groupBy(rows.filter(isReadable), ({ shard }) => shard)
  const parts = await Promise.all(
    [...shards].map(([shard, own]) =>
      read(
        settings.ledgers[shard]!,
        own.map(({ connection, entity, fiscal_entity_id, rfc, name, issued_to, received_to, ...row }) => {
          const bounds = { ...row, issued_to: issued_to?.getTime() ?? null, received_to: received_to?.getTime() ?? null }
          const windows = windowsOf(organization.extractor_count, bounds)
          const reader = { entity, organization_id: organization.id, window: combinedWindowOf(windows) }
          return { ...reader, connection, windows, fiscal_entity_id, rfc, name }
        }),
      ),
    ),
  )
  return {
    data: parts.flat().sort((a, b) => (a.fiscal_entity_id < b.fiscal_entity_id ? -1 : a.fiscal_entity_id > b.fiscal_entity_id ? 1 : 0)),
    has_more,
    next_cursor: has_more ? await sealCursor(ctx, scope, [rows.at(-1)!.fiscal_entity_id]) : null,
  }
}

export const headOf = ({ fiscal_entity_id, rfc, name }: Client) => ({ fiscal_entity_id, rfc, name })

/** Returns the latest compliance opinions of all RFCs, those without one included unless a sense is asked for. */
export const listOpinions = (ctx: Ctx, query: PortfolioOpinionQuery): Promise<Page<PortfolioOpinion>> =>
  clientPage(ctx, 'portfolio.opinions', query, async (ledger, clients) => {
    const opinions = new Map((await readRows(ledger, latestOpinions(clients))).map((row) => [row.n, row]))
    return clients.flatMap((client, n) => {
      const found = opinions.get(n)
      const fields = found && (JSON.parse(found.fields) as ComplianceOpinion)
      if (query.sense !== undefined && fields?.sense !== query.sense) return []
      const { document_id = null, document_date = null } = found ?? {}
      return [{ ...headOf(client), sense: fields?.sense ?? null, folio: fields?.folio ?? null, document_id, document_date }]
    })
  })

/** Returns of periods that can be due now are not older. */
const YEARS = 2

/** Returns the obligations of all RFCs that are due within some days and that no return files. */
export async function listDueObligations(ctx: Ctx, query: PortfolioObligationQuery): Promise<Page<PortfolioObligation>> {
  const today = centralDayOf(ctx.now.getTime())
  const rules = await rulesAt(ctx, today)
  const since = lastDayOf(`${Number(today.slice(0, 4)) - YEARS}-01`)
  return clientPage(ctx, 'portfolio.obligations', query, async (ledger, clients) => {
    const registrations = await readRegistrations(ledger, clients, since)
    return clients.flatMap((client, n) =>
      obligationsOf({ rfc: client.rfc, today, rules, ...registrations[n]! }).flatMap((one) => {
        if (one.due_date === null || one.status === 'filed') return []
        const days_left = epochDayOf(one.due_date) - epochDayOf(today)
        return days_left < 0 || days_left > query.days ? [] : [{ ...headOf(client), ...one, days_left }]
      }),
    )
  })
}

import { listedOf } from '../../lists/listed/counterparties.ts'
import type { Ctx } from '../../platform/context.ts'
import { notFound } from '../../platform/failures.ts'
import { type CursorScope, openCursor, type Page, sealCursor } from '../../platform/paging/cursor.ts'
import { openLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import { findDetailed } from '../detail/detail.ts'
import { findPage, planned } from '../search/store.ts'
import { view } from '../view.ts'
import type { CfdiRelation, RelationsQuery } from './contract.ts'
import { findReferrers } from './store.ts'

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
  const [side, ...place] = ((await openCursor(ctx, scope, cursor)) ?? []) as string[]
  const after = place.length === 2 ? (place as [string, string]) : null
  const found = await findDetailed(ledger, uuid)
  if (!found) throw notFound('cfdi')
  const { relacionados, pagos } = found.content
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

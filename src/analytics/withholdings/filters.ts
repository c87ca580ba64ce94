import { type SQL, sql } from 'drizzle-orm'
import { all } from '../../platform/db/statement.ts'
import type { WithholdingsQuery } from './contract.ts'
import type { Line } from './lines.ts'
import { IS_OURS, MISSING } from './store.ts'

type Filters = Pick<WithholdingsQuery, 'role' | 'impuesto' | 'concept_class' | 'source' | 'missing'>

const SOURCES = { cfdi: sql`tipo in ('I', 'E', 'N')`, pago: sql`tipo = 'P'`, retencion_cfdi: sql`tipo = 'R'` }
const TAXES = {
  ISR: sql`(isr_retenido <> 0 or due_isr is not null)`,
  IVA: sql`(iva_retenido <> 0 or due_iva is not null)`,
  IEPS: sql`ieps_retenido <> 0`,
}

/** The condition that an event has a line that may match. */
export function conditionOf({ role, impuesto, source, missing, concept_class }: Filters): SQL {
  const missed = (impuesto === undefined ? (['ISR', 'IVA'] as const) : impuesto === 'IEPS' ? [] : [impuesto]).map(
    (one) => sql`${MISSING[one]} = 1`,
  )
  return all([
    sql`1`,
    ...(role ? [role === 'withheld_by_us' ? sql`(${IS_OURS})` : sql`not (${IS_OURS})`] : []),
    ...(impuesto ? [TAXES[impuesto]] : []),
    ...(source ? [SOURCES[source]] : []),
    ...(missing ? [sql`(${missed.length === 0 ? sql`0` : sql.join(missed, sql` or `)})`] : []),
    ...(concept_class === undefined ? [] : [classCondition(concept_class)]),
  ])
}

const classCondition = (concept_class: string): SQL =>
  sql`(case tipo when 'N' then 'sueldos' when 'R' then '' else coalesce(class, 'otros') end) = ${concept_class}`

export const isMatch = (line: Line, { role, impuesto, concept_class, source, missing }: Filters): boolean =>
  (role === undefined || line.role === role) &&
  (impuesto === undefined || line.impuesto === impuesto) &&
  (concept_class === undefined || line.concept_class === concept_class) &&
  (source === undefined || line.source === source) &&
  (missing === undefined || line.missing)

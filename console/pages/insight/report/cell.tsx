import type { Listed } from '../../../api/routes.d.ts'
import { count, day, decimal, money, month as monthName, NOTHING } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Badge, type Tone } from '../../../parts/badge.tsx'
import { Blacklist } from '../../work/cfdi/badges.tsx'
import { Drill } from '../figures/drill.tsx'
import css from '../figures/figures.module.css'
import { useShown } from '../figures/state.tsx'
import type { Kind } from './columns.ts'
import { words } from './words.ts'

export type Row = Record<string, unknown> & { drilldown: Record<string, string> }

const TONES: Record<string, Tone> = {
  filed: 'good',
  pending: 'wait',
  overdue: 'bad',
  active: 'good',
  revoked: 'bad',
  expired: 'bad',
  positivo: 'good',
  negativo: 'bad',
}
const STATES = ['status', 'sense']

const textOf = (kind: Kind, value: string | number | null): string => {
  if (value === null) return NOTHING
  if (typeof value === 'number') return count(value)
  if (kind === 'money') return money(value)
  return kind === 'percent' ? `${decimal(value)} %` : decimal(value)
}

const isFigure = (kind: Kind): boolean => ['money', 'count', 'percent', 'decimal'].includes(kind)
export const isEnd = isFigure

/** The month of a row, or its year: one of a comparison says its year apart. */
const monthOf = ({ year, month, period }: Row): string => (year && month ? `${year}-${month}` : String(month ?? period ?? year ?? NOTHING))

/** What names a row, for whoever hears what a figure leads to. */
const nameOf = (row: Row): string => String(row['name'] ?? row['rfc'] ?? row['month'] ?? row['year'] ?? row['reason'] ?? '')

/** A value of a report. A figure leads to its documents where the API says which they are. */
export function Cell({ row, member, kind }: { row: Row; member: string; kind: Kind }) {
  const t = useWords(words)
  const shown = useShown()
  const value = row[member]
  if (isFigure(kind)) {
    const text = shown(textOf(kind, value as string | number | null), monthOf(row))
    return <Drill to={row.drilldown[member]} label={`${t.members[member]}, ${nameOf(row)}`} text={text} />
  }
  const word = t.values[member]?.[String(value)] ?? String(value ?? NOTHING)
  switch (kind) {
    case 'month':
      return <span class={css.nowrap}>{monthName(monthOf(row))}</span>
    case 'day':
      return <span class={css.nowrap}>{day(value as string | null)}</span>
    case 'word':
      return STATES.includes(member) ? <Badge tone={TONES[String(value)] ?? 'idle'}>{word}</Badge> : word
    case 'party':
      return (
        <span class={css.two}>
          <b>{row['name'] == null ? word : String(row['name'])}</b>
          {row['name'] ? <small>{String(value)}</small> : null}
        </span>
      )
    case 'listed':
      return <Blacklist listed={value as Listed} />
    case 'partial':
      return <Badge tone={value ? 'wait' : 'good'}>{value ? t.partial : t.whole}</Badge>
    case 'value':
      return <small>{value === null || typeof value !== 'object' ? word : JSON.stringify(value)}</small>
    default:
      return <b>{word}</b>
  }
}

import type { VatMonth } from '../../../api/routes.d.ts'
import { Waterfall } from '../../../charts/waterfall.tsx'
import { day, decimal, money, month as monthName, NOTHING, unsigned } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Badge, type Tone } from '../../../parts/badge.tsx'
import { ButtonLink } from '../../../parts/button.tsx'
import { Figures, Panel } from '../../../parts/page.tsx'
import { Formulas } from '../figures/basis.tsx'
import { Drill } from '../figures/drill.tsx'
import { Operation } from '../figures/operation.tsx'
import { amountOf } from './beside.tsx'
import { stepsOf } from './steps.ts'
import css from './vat.module.css'
import { words } from './words.ts'

const DATA: Record<VatMonth['data_status']['issued'], Tone> = { complete: 'good', downloading: 'going', missing: 'bad', imported: 'wait' }
const DIRECTIONS = ['issued', 'received'] as const

/** Whether all of a month is in its figures, so far as it is over. */
export const isReal = ({ is_partial, data_status: { issued, received }, month_before }: VatMonth): boolean =>
  !is_partial && issued === 'complete' && received === 'complete' && month_before.is_known

/** Whether a month is actual or an estimate, and of what it waits. */
export function Status({ row, isShort = false }: { row: VatMonth; isShort?: boolean }) {
  const t = useWords(words)
  const { is_partial, through_date, data_status } = row
  const isWhole = !is_partial && DIRECTIONS.every((one) => data_status[one] === 'complete')
  return (
    <span class={css.badges}>
      {isReal(row) && <Badge tone="good">{isShort ? t.realShort : t.real}</Badge>}
      {!isReal(row) && (
        <Badge tone="wait">
          {is_partial && through_date
            ? t.estimated(day(through_date))
            : isShort
              ? t.estimatedShort
              : isWhole
                ? t.estimatedBefore
                : t.estimatedOnly}
        </Badge>
      )}
      {DIRECTIONS.filter((one) => data_status[one] !== 'complete').map((one) => (
        <Badge key={one} tone={DATA[data_status[one]]}>
          {t.statusOf(t[one], t.status[data_status[one]])}
        </Badge>
      ))}
    </span>
  )
}

interface Props {
  /** The RFC. */
  entity: string
  row: VatMonth
  periods: readonly string[]
  choose: (period: string) => void
  formulas: Record<string, string>
  /** Where the CFDIs of the month can be exported. */
  exportHref: string
}

/** A month: its balance, what the return says, and the way from what was collected to the balance. */
export function Month({ entity, row, periods, choose, formulas, exportHref }: Props) {
  const t = useWords(words)
  const { period, declarado, saldo, resultado, diferencia } = row
  const all = periods.includes(period) ? periods : [...periods, period].sort()
  // A balance in favour is named so: it has no sign.
  const balance = resultado === 'a_favor' ? unsigned(saldo) : saldo
  const falls = stepsOf(row).map(({ text, drilldown, ...step }) => {
    const name = step.key === 'saldo' ? t.saldo[resultado ?? 'unknown'] : t.step[step.key]
    const own = step.key === 'saldo' ? balance : text
    const shown = own === null ? NOTHING : step.key === 'prorrateo' ? decimal(own) : step.side ? amountOf(own, row, step.side) : money(own)
    const isUnsure = step.key === 'retenido_antes' && !row.month_before.is_known
    return { ...step, name, note: isUnsure ? t.notKnown : t.note[step.key], figure: <Drill to={drilldown} label={name} text={shown} /> }
  })
  return (
    <Panel
      title={t.waterfall}
      lead={<Status row={row} />}
      actions={
        <>
          <select aria-label={t.month} value={period} onChange={({ currentTarget: { value } }) => choose(value)}>
            {all.toReversed().map((one) => (
              <option key={one} value={one}>
                {monthName(one, 'long')}
              </option>
            ))}
          </select>
          <ButtonLink href={exportHref}>{t.exportMonth}</ButtonLink>
        </>
      }
    >
      <Figures
        figures={[
          { name: `${t.saldo[resultado ?? 'unknown']}, ${monthName(period, 'long')}`, value: money(balance) },
          ...(declarado
            ? (['iva_a_cargo', 'iva_a_favor'] as const)
                .filter((side, n) => declarado[side] !== '0.00' || (n === 0 && declarado.iva_a_favor === '0.00'))
                .map((side) => ({
                  name: `${t.declared}, ${t.declaredAs[side]}`,
                  value: money(declarado[side]),
                  note: declarado.operation_number && <Operation entity={entity} period={period} number={declarado.operation_number} />,
                }))
            : [{ name: t.declared, value: NOTHING, note: t.notDeclared }]),
          ...(diferencia === null ? [] : [{ name: t.difference, value: money(diferencia), note: t.differenceNote }]),
        ]}
      />
      {saldo === null && <p class={css.soft}>{t.unknown}</p>}
      <Waterfall label={`${t.waterfall}, ${monthName(period, 'long')}`} falls={falls} />
      <h3 class={css.formula}>{t.formula}</h3>
      <Formulas
        formulas={formulas}
        labels={t.formulas}
        members={t.members}
        names={['saldo', 'diferencia', 'acreditable', 'no_deducible_excluded', 'retenido_acreditable', 'prorrateo']}
      />
    </Panel>
  )
}

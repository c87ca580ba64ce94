import type { VatMonth } from '../../../api/routes.d.ts'
import { count, money } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Facts, Panel } from '../../../parts/page.tsx'
import { Table } from '../../../parts/table.tsx'
import { Drill } from '../figures/drill.tsx'
import { words } from './words.ts'

const RATES = ['16', '8', '0', 'exento', 'otras', 'no_objeto', 'sin_traslado'] as const
type Rate = (typeof RATES)[number]

/** Bases and IVA of each rate, each with its documents. */
export function Rates({ row }: { row: VatMonth }) {
  const t = useWords(words)
  const cell = (side: 'cobrado' | 'pagado', figure: string, label: string) => {
    const text = (row[side] as Record<string, string>)[figure]
    return text === undefined ? null : <Drill to={row.drilldown[`${side}.${figure}`]} label={label} text={money(text)} />
  }
  const column = (name: string, side: 'cobrado' | 'pagado', kind: 'base' | 'iva') => ({
    ...{ name, end: true },
    cell: (rate: Rate) => cell(side, `${kind}_${rate}`, `${name}, ${t.rateOf[rate]}`),
  })
  return (
    <Panel flush title={t.rates} lead={t.ratesLead}>
      <Table<Rate>
        label={t.rates}
        rows={RATES}
        keyOf={(rate) => rate}
        columns={[
          { name: t.rate, cell: (rate) => t.rateOf[rate] },
          column(t.collectedBase, 'cobrado', 'base'),
          column(t.collectedIva, 'cobrado', 'iva'),
          column(t.paidBase, 'pagado', 'base'),
          column(t.paidIva, 'pagado', 'iva'),
        ]}
      />
    </Panel>
  )
}

/** What is not in the balance. */
export function Beside({ row }: { row: VatMonth }) {
  const t = useWords(words)
  const { devengado, proporcion, terceros, pagos_sin_conciliar: loose, drilldown } = row
  const texts: Record<keyof typeof t.fact, string> = {
    'devengado.trasladado': money(devengado.trasladado),
    'devengado.acreditable': money(devengado.acreditable),
    pendiente_por_cobrar_iva: money(row.pendiente_por_cobrar_iva),
    pendiente_por_acreditar_iva: money(row.pendiente_por_acreditar_iva),
    'proporcion.gravado': money(proporcion.gravado),
    'proporcion.exento': money(proporcion.exento),
    'proporcion.no_objeto': money(proporcion.no_objeto),
    'proporcion.fuera': money(proporcion.fuera),
    'proporcion.por_revisar': money(proporcion.por_revisar),
    'terceros.iva_16': money(terceros.iva_16),
    por_revisar: money(row.por_revisar),
    at_risk_69b: money(row.at_risk_69b),
    at_risk_repse: money(row.at_risk_repse),
    'pagos_sin_conciliar.count': count(loose.count),
    'pagos_sin_conciliar.iva': money(loose.iva),
  }
  const names = Object.keys(texts) as (keyof typeof texts)[]
  return (
    <Panel title={t.beside} lead={t.besideLead}>
      <Facts
        facts={names.map((name) => [t.fact[name], <Drill key={name} to={drilldown[name]} label={t.fact[name]} text={texts[name]} />])}
      />
    </Panel>
  )
}

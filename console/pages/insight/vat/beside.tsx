import type { VatMonth } from '../../../api/routes.d.ts'
import { count, money } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Facts, Panel } from '../../../parts/page.tsx'
import { Table } from '../../../parts/table.tsx'
import { Drill, isDownloaded, unlessUnknown } from '../figures/drill.tsx'
import { words } from './words.ts'

const RATES = ['16', '8', '0', 'exento', 'otras', 'no_objeto', 'sin_traslado'] as const
type Rate = (typeof RATES)[number]

const SIDES = { cobrado: 'issued', pagado: 'received' } as const
type Side = keyof typeof SIDES

/** An amount of a side of a month as it is shown. */
export const amountOf = (amount: string | null, { data_status }: VatMonth, side: Side): string =>
  unlessUnknown(money(amount), isDownloaded(data_status[SIDES[side]]))

/** Bases and IVA of each rate, each with its documents. */
export function Rates({ row }: { row: VatMonth }) {
  const t = useWords(words)
  const cell = (side: Side, figure: string, label: string) => {
    const text = (row[side] as Record<string, string>)[figure]
    return text === undefined ? null : <Drill to={row.drilldown[`${side}.${figure}`]} label={label} text={amountOf(text, row, side)} />
  }
  const column = (name: string, side: Side, kind: 'base' | 'iva') => ({
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
  const issued = (amount: string) => amountOf(amount, row, 'cobrado')
  const received = (amount: string) => amountOf(amount, row, 'pagado')
  const isKnown = isDownloaded(row.data_status.issued) && isDownloaded(row.data_status.received)
  const texts: Record<keyof typeof t.fact, string> = {
    'devengado.trasladado': issued(devengado.trasladado),
    'devengado.acreditable': received(devengado.acreditable),
    pendiente_por_cobrar_iva: issued(row.pendiente_por_cobrar_iva),
    pendiente_por_acreditar_iva: received(row.pendiente_por_acreditar_iva),
    'proporcion.gravado': issued(proporcion.gravado),
    'proporcion.exento': issued(proporcion.exento),
    'proporcion.no_objeto': issued(proporcion.no_objeto),
    'proporcion.fuera': issued(proporcion.fuera),
    'proporcion.por_revisar': issued(proporcion.por_revisar),
    'terceros.iva_16': issued(terceros.iva_16),
    por_revisar: received(row.por_revisar),
    at_risk_69b: received(row.at_risk_69b),
    at_risk_repse: received(row.at_risk_repse),
    'pagos_sin_conciliar.count': unlessUnknown(count(loose.count), isKnown),
    'pagos_sin_conciliar.iva': unlessUnknown(money(loose.iva), isKnown),
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

import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import type { CfdiDetail, XmlElement } from '../../../api/routes.d.ts'
import { useCodes } from '../../../codes/codes.ts'
import { day, decimal, money } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Facts, Panel } from '../../../parts/page.tsx'
import { Table } from '../../../parts/table.tsx'
import { nameOf } from '../cfdi/name.ts'
import css from './invoice.module.css'
import { words } from './words.ts'

type Paid = CfdiDetail['pagos'][number]['documentos'][number] & { n: number }

type Nomina = CfdiDetail['nominas'][number]

/** A payroll line, of whatever kind it is. */
interface PayrollLine {
  name: string
  code: string | null
  key: string | null
  said: string | null
  taxed: string | null
  exempt: string | null
  amount: string | null
}

function usePayrollLines(): (nomina: Nomina) => PayrollLine[] {
  const t = useWords(words)
  const none = { key: null, said: null, taxed: null, exempt: null, amount: null }
  const hours = (all: Nomina['horas_extra']): PayrollLine[] =>
    all.map((one) => ({
      ...none,
      ...{ name: t.overtime, code: one.tipo_horas, said: t.overtimeOf(one.horas_extra ?? '', one.dias ?? ''), amount: one.importe_pagado },
    }))
  const whole = (name: string, amount: string | null | undefined): PayrollLine[] => (amount ? [{ ...none, name, code: null, amount }] : [])
  return ({ percepciones, deducciones, otros_pagos, incapacidades, horas_extra, separacion_indemnizacion, jubilacion_pension_retiro }) => [
    ...percepciones.flatMap((one) => [
      {
        ...{ name: t.earning, code: one.tipo_percepcion, key: one.clave, said: one.concepto },
        ...{ taxed: one.importe_gravado, exempt: one.importe_exento, amount: null },
      },
      ...hours(one.horas_extra),
    ]),
    ...hours(horas_extra),
    ...whole(t.separation, separacion_indemnizacion?.total_pagado),
    ...whole(t.retirement, jubilacion_pension_retiro?.total_una_exhibicion ?? jubilacion_pension_retiro?.total_parcialidad),
    ...deducciones.map((one) => ({
      ...{ name: t.deduction, code: one.tipo_deduccion, key: one.clave, said: one.concepto },
      ...{ taxed: one.importe_gravado, exempt: one.importe_exento, amount: one.importe },
    })),
    ...otros_pagos.map((one) => ({
      ...{ ...none, name: t.other, code: one.tipo_otro_pago, key: one.clave, said: one.concepto, amount: one.importe },
    })),
    ...incapacidades.map((one) => ({
      ...{ ...none, name: t.incapacity, code: one.tipo_incapacidad, said: t.incapacityOf(one.dias_incapacidad ?? '') },
      amount: one.importe_monetario ?? one.descuento,
    })),
  ]
}

/** An element with its attributes. What is inside it is drawn once it is opened, because there may be much of it. */
function Tree({ node, name = node.name }: { node: XmlElement; name?: string }) {
  const [isOpen, open] = useState(false)
  return (
    <details class={css.tree} onToggle={({ currentTarget }) => open(currentTarget.open)}>
      <summary>{name}</summary>
      {isOpen && (
        <>
          {node.text && <p>{node.text}</p>}
          <dl>
            {Object.entries(node.attributes).map(([name, value]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ))}
          </dl>
          {node.children.map((child, n) => (
            <Tree key={n} node={child} />
          ))}
        </>
      )}
    </details>
  )
}

/** Every complement as the XML states it, those of lines too. */
export function Trees({ cfdi }: { cfdi: CfdiDetail }) {
  const t = useWords(words)
  const ofLines = cfdi.conceptos.flatMap(({ complement_trees, other_elements }, n) =>
    [...complement_trees, ...other_elements].map((node) => ({ node, name: t.ofLine(node.name, n + 1) })),
  )
  const all = [...cfdi.complement_trees.map((node) => ({ node, name: node.name })), ...ofLines]
  const lacks = Object.values(cfdi.xml_left_out ?? {}).some((elements) => elements > 0)
  if (all.length === 0 && !lacks) return null
  return (
    <Panel title={t.complements} lead={t.complementsLead}>
      {lacks && <p class={css.soft}>{t.leftOut}</p>}
      {all.map(({ node, name }, n) => (
        <Tree key={n} node={node} name={name} />
      ))}
    </Panel>
  )
}

/** What a document says beside its lines: payments, payroll, withholdings. */
export function Complements({ cfdi }: { cfdi: CfdiDetail }) {
  const t = useWords(words)
  const { said } = useCodes()
  const linesOf = usePayrollLines()
  return (
    <>
      {cfdi.pagos.map((pago, n) => (
        <div key={n} class={css.complement}>
          <h2>{t.pays}</h2>
          <Facts
            facts={[
              [t.date, day(pago.fecha_pago)],
              [t.form, pago.forma_pago_p && said('forma_pago', pago.forma_pago_p)],
              [t.paidAmount, money(pago.monto, pago.moneda_p)],
            ]}
          />
          <div class={css.bleed}>
            <Table<Paid>
              label={t.pays}
              rows={pago.documentos.map((one, k) => ({ ...one, n: k }))}
              keyOf={(one) => String(one.n)}
              columns={[
                {
                  name: t.document,
                  cell: (one) => (
                    <Link class={css.unbroken} href={`/cfdi/${one.uuid}?fiscal_entity_id=${cfdi.fiscal_entity_id}`}>
                      {nameOf(one)}
                    </Link>
                  ),
                },
                { name: t.part, end: true, cell: ({ num_parcialidad }) => num_parcialidad },
                { name: t.before, end: true, cell: ({ imp_saldo_ant, moneda_dr }) => money(imp_saldo_ant, moneda_dr) },
                { name: t.paid, end: true, cell: ({ imp_pagado, moneda_dr }) => money(imp_pagado, moneda_dr) },
                { name: t.after, end: true, cell: ({ imp_saldo_insoluto, moneda_dr }) => money(imp_saldo_insoluto, moneda_dr) },
              ]}
            />
          </div>
        </div>
      ))}
      {cfdi.nominas.map((one, n) => (
        <div key={n} class={css.complement}>
          <h2>{t.payroll}</h2>
          <Facts
            facts={[
              [t.employee, one.num_empleado],
              [t.period, `${day(one.fecha_inicial_pago)} – ${day(one.fecha_final_pago)}`],
              [t.days, decimal(one.num_dias_pagados)],
              [t.earned, money(one.total_percepciones)],
              [t.deducted, money(one.total_deducciones)],
              [t.others, money(one.total_otros_pagos)],
            ]}
          />
          <div class={css.bleed}>
            <Table<PayrollLine & { n: number }>
              label={t.payrollLines}
              rows={linesOf(one).map((line, n) => ({ ...line, n }))}
              keyOf={({ n }) => String(n)}
              columns={[
                { name: t.payrollKind, cell: ({ name, code }) => [name, code].filter(Boolean).join(' ') },
                { name: t.key, cell: ({ key }) => key },
                { name: t.description, cell: ({ said }) => said },
                { name: t.taxed, end: true, cell: ({ taxed }) => taxed && money(taxed) },
                { name: t.exemptPart, end: true, cell: ({ exempt }) => exempt && money(exempt) },
                { name: t.amount, end: true, cell: ({ amount }) => amount && money(amount) },
              ]}
            />
          </div>
        </div>
      ))}
      {cfdi.retencion && (
        <div class={css.complement}>
          <h2>{t.withholding}</h2>
          <Facts
            facts={[
              [t.key, [cfdi.retencion.clave, cfdi.retencion.descripcion].filter(Boolean).join(' · ')],
              [t.period, `${cfdi.retencion.mes_inicial ?? ''}–${cfdi.retencion.mes_final ?? ''} ${cfdi.retencion.ejercicio ?? ''}`],
              [t.operation, money(cfdi.retencion.monto_total_operacion)],
              [t.withheldTotal, money(cfdi.retencion.monto_total_retenido)],
            ]}
          />
        </div>
      )}
    </>
  )
}

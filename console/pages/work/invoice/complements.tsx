import { Link } from 'wouter-preact'
import type { CfdiDetail } from '../../../api/routes.d.ts'
import { useCodes } from '../../../codes/codes.ts'
import { day, decimal, money } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Facts } from '../../../parts/page.tsx'
import { Table } from '../../../parts/table.tsx'
import { nameOf } from '../cfdi/name.ts'
import css from './invoice.module.css'
import { words } from './words.ts'

type Paid = CfdiDetail['pagos'][number]['documentos'][number] & { n: number }

/** What a document says beside its lines: payments, payroll, withholdings. */
export function Complements({ cfdi }: { cfdi: CfdiDetail }) {
  const t = useWords(words)
  const { said } = useCodes()
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

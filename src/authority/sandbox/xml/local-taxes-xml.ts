import { type LocalTax, signed, sum } from '../world/comprobante.ts'
import { element, money } from './markup.ts'

/** Returns the complement implocal, or nothing without local taxes. Its rates are in percent. */
export function localTaxesXml(taxes: LocalTax[]): string {
  if (taxes.length === 0) return ''
  const total = (isWithheld: boolean) =>
    money(
      Math.abs(
        sum(
          taxes.filter((tax) => tax.isWithheld === isWithheld),
          signed,
        ),
      ),
    )
  const one = ({ nombre, tasa, importe, isWithheld }: LocalTax): string =>
    isWithheld
      ? element('implocal:RetencionesLocales', { ImpLocRetenido: nombre, TasadeRetencion: money(tasa), Importe: money(importe) })
      : element('implocal:TrasladosLocales', { ImpLocTrasladado: nombre, TasadeTraslado: money(tasa), Importe: money(importe) })
  return element(
    'implocal:ImpuestosLocales',
    { version: '1.0', TotaldeRetenciones: total(true), TotaldeTraslados: total(false) },
    ...taxes.map(one),
  )
}

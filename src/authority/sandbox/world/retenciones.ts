import { type SandboxComprobante, type SandboxRetencion, share, untaxed } from './comprobante.ts'
import { comprobante, type Direction, hourOf } from './draft.ts'
import { addMonths } from './places.ts'
import { isDue, random } from './seed.ts'
import { circleOf, isCompany } from './taxpayers.ts'

/**
 * Returns the CFDI de retenciones of a month, every fourth month: what a company withheld from the fees of a person, or from a foreigner.
 */
export function retencionesOf(rfc: string, direction: Direction, month: string): SandboxComprobante[] {
  const { self, clients, suppliers, foreigners } = circleOf(rfc)
  const key = `${rfc}|${direction}|retenciones`
  if (!isDue(key, month, 4) || (direction === 'issued' && !isCompany(rfc))) return []
  const draws = random(`${key}|${month}`)
  const people = suppliers.filter((one) => !isCompany(one.rfc))
  const [emisor, receptor] =
    direction === 'received'
      ? [draws.pick((isCompany(rfc) ? suppliers : clients).filter((one) => isCompany(one.rfc))), self]
      : [self, draws.pick([...people, ...people, ...foreigners])]
  const isFee = !isCompany(receptor.rfc) && !receptor.foreign
  const base = draws.int(800_000, 6_000_000)
  const retencion: SandboxRetencion = {
    ...{ clave: isFee ? '01' : '25', descripcion: isFee ? null : 'Otro tipo de retenciones', month: addMonths(month, -1) },
    ...{ isr: share(base, 10, 100), iva: isFee ? share(base, 106_667, 1_000_000) : 0 },
  }
  const conceptos = [untaxed('84111506', 'ACT', 'Retenciones', base)]
  return [
    comprobante(
      { key: `${key}|${month}`, fecha: hourOf(draws, month, 5, 10), emisor, receptor },
      { tipo: null, serie: 'R', conceptos, retencion },
    ),
  ]
}

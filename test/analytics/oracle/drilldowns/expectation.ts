import { type Micros, micros, quotient, times } from '../amounts.ts'
import { netOf } from '../counting.ts'
import { hasPrefix } from '../lists.ts'
import { IVA, taxesOf, taxSum } from '../taxes.ts'
import { type Document, dayOf, isCompany, isGeneric, type World } from '../world.ts'

/** The clave of eight digits of which the lines amount to most, the first of equals; empty for lines without one. */
function mainClave({ conceptos }: Document): string {
  const sums = new Map<string, Micros>()
  for (const { clave_prod_serv, importe, descuento } of conceptos) {
    const clave = /^\d{8}$/.test(clave_prod_serv ?? '') ? clave_prod_serv! : ''
    sums.set(clave, (sums.get(clave) ?? 0n) + micros(importe) - micros(descuento))
  }
  return [...sums].reduce((one, other) => (other[1] > one[1] ? other : one), ['', -(10n ** 40n)] as [string, Micros])[0]
}

/** The class of what an invoice bills (insights 8.2); null when nothing can be expected of its receiver. */
export function classOf(world: World, document: Document, day = dayOf(document.fecha)): string {
  const { claves } = world.rules(day)
  const { emisor_rfc, emisor_regimen_fiscal, receptor_rfc } = document
  if (!isCompany(receptor_rfc) || isGeneric(receptor_rfc)) return 'otros'
  const clave = mainClave(document)
  if (hasPrefix(clave, claves.freight)) return 'autotransporte'
  if (isCompany(emisor_rfc)) return 'otros'
  if (emisor_regimen_fiscal === '606') return 'arrendamiento'
  if (emisor_regimen_fiscal === '626') return 'resico_pf'
  if (emisor_regimen_fiscal !== '612') return 'otros'
  if (hasPrefix(clave, claves.rent)) return 'arrendamiento'
  if (hasPrefix(clave, claves.commission)) return 'comision'
  return hasPrefix(clave, claves.service) ? 'honorarios' : 'otros'
}

/** What should be withheld of a net amount and its IVA, rounded once; null where nothing is expected. */
export function expectedOf(
  world: World,
  document: Document,
  net: Micros,
  iva: Micros,
  day = dayOf(document.fecha),
): { ISR: Micros | null; IVA: Micros | null } {
  const name = classOf(world, document, day)
  const rule = world.rules(day).withholding[name]!
  const { claves } = world.rules(day)
  const isService = hasPrefix(mainClave(document), [...claves.service, ...claves.rent])
  const isFree = rule.iva === null || (name === 'resico_pf' && !isService)
  const expectedIva = isFree ? 0n : rule.iva === 'two_thirds' ? quotient(iva * 2n, 3n) : times(net, rule.iva!)
  const expectedIsr = rule.isr === null ? 0n : times(net, rule.isr)
  return { ISR: expectedIsr > 0n ? expectedIsr : null, IVA: expectedIva > 0n ? expectedIva : null }
}

/** What an invoice withholds and should withhold, where something is expected, in its currency. */
export function expectationOf(world: World, document: Document): { impuesto: 'ISR' | 'IVA'; amount: Micros; expected: Micros }[] {
  const taxes = taxesOf(document)
  const expected = expectedOf(world, document, netOf(document), taxSum(taxes, 'traslado', IVA))
  return [['ISR', '001'] as const, ['IVA', IVA] as const].flatMap(([impuesto, code]) =>
    expected[impuesto] === null ? [] : [{ impuesto, amount: taxSum(taxes, 'retencion', code), expected: expected[impuesto] }],
  )
}

import { type Micros, quotient, times } from '../amounts.ts'
import { netOf } from '../counting.ts'
import { netsByClave } from '../lines.ts'
import { hasPrefix } from '../lists.ts'
import type { Day } from '../shapes.ts'
import { IVA, taxesOf, taxSum } from '../taxes.ts'
import { type Document, dayOf, isCompany, isGeneric, type World } from '../world.ts'

/** The clave of eight digits of which the lines amount to most, the first of equals; empty for lines without one. */
export const mainClave = (document: Document): string =>
  [...netsByClave(document)].reduce((one, other) => (other[1] > one[1] ? other : one), ['', -(10n ** 40n)] as [string, Micros])[0]

/**
 * The rule for what an invoice bills (insights 8.18). Only companies withhold. Of a natural person of 626 they do so whatever it bills; of
 * others by what is billed.
 */
function ruleOf(world: World, document: Document, day: Day): string {
  const { claves } = world.rules(day)
  const { emisor_rfc, emisor_regimen_fiscal, receptor_rfc } = document
  if (!isCompany(receptor_rfc) || isGeneric(receptor_rfc)) return 'otros'
  const clave = mainClave(document)
  const bills = (kind: keyof typeof claves) => hasPrefix(clave, claves[kind])
  if (!isCompany(emisor_rfc) && emisor_regimen_fiscal === '626') {
    if (bills('primary')) return 'resico_primario'
    if (bills('freight')) return 'resico_autotransporte'
    return bills('scrap') ? 'resico_desperdicios' : 'resico_pf'
  }
  if (bills('freight')) return 'autotransporte'
  if (bills('scrap')) return 'desperdicios'
  if (bills('personnel')) return 'servicios_personal'
  if (isCompany(emisor_rfc)) return 'otros'
  if (emisor_regimen_fiscal === '606') return 'arrendamiento'
  if (emisor_regimen_fiscal !== '612') return 'otros'
  if (bills('rent')) return 'arrendamiento'
  if (bills('commission')) return 'comision'
  if (bills('agent')) return 'agentes'
  return bills('service') ? 'honorarios' : 'otros'
}

/** The class of what an invoice bills; `otros` when nothing can be expected of its receiver. */
export function classOf(world: World, document: Document, day = dayOf(document.fecha)): string {
  const rule = ruleOf(world, document, day)
  return rule.startsWith('resico') ? 'resico_pf' : rule === 'agentes' ? 'honorarios' : rule
}

/** What should be withheld of a net amount and its IVA, rounded once; null where nothing is expected. */
export function expectedOf(
  world: World,
  document: Document,
  net: Micros,
  iva: Micros,
  day = dayOf(document.fecha),
): { ISR: Micros | null; IVA: Micros | null } {
  const name = ruleOf(world, document, day)
  const { claves, withholding } = world.rules(day)
  const rule = withholding[name]!
  // RLIVA 3: independent services, commissions and leases.
  const isNamed = hasPrefix(mainClave(document), [...claves.service, ...claves.agent, ...claves.rent, ...claves.commission])
  const isFree = rule.iva === null || (name === 'resico_pf' && !isNamed)
  const ofIva = rule.iva === 'two_thirds' ? quotient(iva * 2n, 3n) : iva
  const expectedIva = isFree ? 0n : rule.iva === 'two_thirds' || rule.iva === 'all' ? ofIva : times(net, rule.iva!)
  const expectedIsr = rule.isr === null ? 0n : times(net, rule.isr)
  return { ISR: expectedIsr > 0n ? expectedIsr : null, IVA: expectedIva > 0n ? expectedIva : null }
}

/**
 * The kind of operation of the DIOT, which belongs to the supply: rent 06, professional services 03, goods 02 since 2025, others 85. Goods
 * are the segments 10 to 60 and 95.
 */
export function operationOf(world: World, document: Document, day: Day): string {
  const { claves, diot } = world.rules(day)
  const clave = mainClave(document)
  if (document.emisor_regimen_fiscal === '606' || hasPrefix(clave, diot.rent)) return '06'
  if (hasPrefix(clave, [...claves.service, ...claves.agent])) return '03'
  const segment = Number(clave.slice(0, 2))
  return diot.has_goods && ((segment >= 10 && segment <= 60) || segment === 95) ? '02' : '85'
}

/** What an invoice withholds and should withhold, where something is expected, in its currency. */
export function expectationOf(world: World, document: Document): { impuesto: 'ISR' | 'IVA'; amount: Micros; expected: Micros }[] {
  const taxes = taxesOf(document)
  const expected = expectedOf(world, document, netOf(document), taxSum(taxes, 'traslado', IVA))
  return [['ISR', '001'] as const, ['IVA', IVA] as const].flatMap(([impuesto, code]) =>
    expected[impuesto] === null ? [] : [{ impuesto, amount: taxSum(taxes, 'retencion', code), expected: expected[impuesto] }],
  )
}

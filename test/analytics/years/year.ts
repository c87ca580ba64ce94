import type { RuleRow } from '../../../src/authority/rules/dated.ts'
import type { SandboxComprobante } from '../../../src/authority/sandbox/world/comprobante.ts'
import { pacOf, stampedAt } from '../../../src/authority/sandbox/world/invoices.ts'
import { payrollOf, retencionesOf } from '../../../src/authority/sandbox/world/month.ts'
import { cfdiXml } from '../../../src/authority/sandbox/xml/cfdi-xml.ts'
import { decimal, money } from '../../../src/authority/sandbox/xml/markup.ts'
import type { ListedRow } from '../../../src/cfdi/package/package.ts'
import type { Day, Situacion } from '../oracle/shapes.ts'
import { addDays, addMonths, type ListEntry, type Registration } from '../oracle/world.ts'
import { type Draws, drawsOf } from './draws.ts'
import { cancel, creditOn, paymentsOn, substituteOf } from './followers.ts'
import { advanceIn, invoiceIn } from './invoices.ts'
import { withThirdParties } from './kinds.ts'
import { ownRulesIn } from './own-rules.ts'
import { cfdi32Xml } from './xml32.ts'

/** A document of a seeded year: its XML, what the authority's metadata says of it, and whether only that is ever delivered. */
export interface YearDocument {
  uuid: string
  direction: 'issued' | 'received'
  fecha: string
  xml: string
  listed: ListedRow
  isMetadataOnly: boolean
}

/** One to two years of a taxpayer. Seeds 1, 2, … give the same year in every run. */
export interface Year {
  seed: number
  rfc: string
  months: string[]
  /** The last day of the year, and some weeks more: today. */
  today: Day
  documents: YearDocument[]
  lists: ListEntry[]
  repse: Map<string, Registration>
  rates: { currency: string; date: Day; rate: string; source: string }[]
  intercompany: string[]
  /** The values of rules that the operator sets. */
  rules: RuleRow[]
}

/** The documents of a year as they are issued, in months that follow each other. */
function documentsIn(draws: Draws, months: readonly string[]): SandboxComprobante[] {
  const { chance, pick, int, rfc } = draws
  const invoices = months.flatMap((month) => [
    ...Array.from({ length: int(2, 5) }, () => invoiceIn(draws, month)),
    ...(chance(0.12) ? advanceIn(draws, month) : []),
  ])
  const payments = invoices.filter(({ tipo }) => tipo === 'I').flatMap((one) => paymentsOn(draws, one, invoices))
  const credits = invoices.filter(({ tipo }) => tipo === 'I' && chance(0.15)).map((one) => creditOn(draws, one))
  const trade = [...invoices, ...payments, ...credits]
  const substitutes = trade.filter(() => chance(0.06)).map((one) => substituteOf(draws, one))
  // Seldom what replaces is replaced too.
  if (substitutes.length > 0 && chance(0.5)) substitutes.push(substituteOf(draws, pick(substitutes)))
  for (const one of [...trade, ...substitutes]) if (chance(0.06)) cancel(draws, one)
  const directions = ['issued', 'received'] as const
  const others = months
    .slice(0, 6)
    .flatMap((month) =>
      directions.flatMap((direction) => [...payrollOf(rfc, direction, month).slice(0, 2), ...retencionesOf(rfc, direction, month)]),
    )
  return [...trade, ...substitutes, ...others]
}

const listedOf = (document: SandboxComprobante): ListedRow => {
  const { uuid, emisor, receptor, fecha, amounts, tipo, cancellation } = document
  const isRetencion = tipo === null
  return {
    ...{ file: 'lista.txt', line: 2, uuid, emisor_rfc: emisor.rfc, emisor_nombre: emisor.nombre, receptor_rfc: receptor.rfc },
    ...{
      receptor_nombre: receptor.nombre,
      pac_rfc: pacOf(document),
      fecha,
      certified_at: stampedAt(document),
      total: money(amounts.total),
    },
    ...{ kind: isRetencion ? 'retenciones' : 'cfdi', tipo_comprobante: tipo, cancelled: cancellation !== null },
    ...{ cancelled_at: cancellation?.at ?? null, cancellation_reason: cancellation?.motivo ?? null },
    folio_sustitucion: cancellation?.folio_sustitucion ?? null,
  }
}

const STEPS: readonly (readonly Situacion[])[] = [
  ['presunto'],
  ['presunto', 'definitivo'],
  ['presunto', 'desvirtuado'],
  ['presunto', 'sentencia_favorable'],
]

function listsOf({ circle, chance, pick, int }: Draws, from: Day, today: Day): ListEntry[] {
  const parties = [...circle.suppliers, ...circle.clients].map(({ rfc, nombre }) => ({ rfc, name: nombre }))
  const efos = parties
    .filter(() => chance(0.2))
    .map((one) => {
      let day = addDays(from, int(-100, 250))
      const history = pick(STEPS).flatMap((situacion) => {
        day = addDays(day, int(20, 150))
        const step = { situacion, sat_at: addDays(day, -int(0, 9)), dof_at: day, oficio: '500-05' }
        // No list names what is published later.
        return step.sat_at <= today ? step : []
      })
      return { source: 'sat_69b', ...one, history }
    })
    .filter(({ history }) => history.length > 0)
  const sources = ['sat_69b_bis', 'sat_csd_sin_efectos', 'sat_69_firmes', 'sat_69_no_localizados', 'sat_69_condonados']
  return [...efos, ...parties.filter(() => chance(0.08)).map((one) => ({ source: pick(sources), ...one, history: [] }))]
}

/** Rates of the dollar for days of the week, with gaps. */
function ratesOf({ chance, int }: Draws, from: Day, to: Day): Year['rates'] {
  const rates: Year['rates'] = []
  for (let date = addDays(from, -10); date <= to; date = addDays(date, 1)) {
    if (![0, 6].includes(new Date(date).getUTCDay()) && !chance(0.1))
      rates.push({ currency: 'USD', date, rate: decimal(int(168_000, 205_000), 4), source: 'DOF' })
  }
  return rates
}

export function yearOf(seed: number): Year {
  const draws = drawsOf(seed)
  const { rfc, circle, chance, pick, int } = draws
  const first = pick(['2020-11', '2021-06', '2021-09', '2024-01', '2024-07', '2025-01'])
  const months = Array.from({ length: int(12, 24) }, (_, n) => addMonths(first, n))
  const from = `${first}-01`
  const today = addDays(`${addMonths(months.at(-1)!, 1)}-01`, int(-5, 40))
  const documents = documentsIn(draws, months)
    .filter(({ fecha }) => fecha.slice(0, 10) < today)
    .map((document): YearDocument => {
      if (document.cancellation && document.cancellation.at.slice(0, 10) >= today) document.cancellation = null
      const isOld = document.tipo === 'I' && document.amounts.locales.length === 0 && !document.relacion && chance(0.03)
      return {
        ...{ uuid: document.uuid, fecha: document.fecha, direction: document.emisor.rfc === rfc ? 'issued' : 'received' },
        ...{
          xml: isOld ? cfdi32Xml(document) : withThirdParties(cfdiXml(document), document),
          listed: listedOf(document),
          isMetadataOnly: document.tipo !== null && chance(0.04),
        },
      }
    })
  const repse = new Map<string, Registration>(
    circle.suppliers
      .filter(() => chance(0.4))
      .map(({ rfc: supplier }): [string, Registration] => {
        const is_registered = chance(0.7)
        const vigencia_hasta = is_registered ? addDays(from, int(0, 700)) : null
        return [supplier, { is_registered, vigencia_hasta, has_activities: is_registered && chance(0.6) }]
      }),
  )
  const intercompany = [...circle.clients, ...circle.suppliers].filter(() => chance(0.1)).map((one) => one.rfc)
  return {
    seed,
    rfc,
    months,
    today,
    documents,
    lists: listsOf(draws, from, today),
    repse,
    rates: ratesOf(draws, from, today),
    intercompany,
    rules: ownRulesIn(draws, from, today),
  }
}

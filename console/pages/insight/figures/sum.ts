import { useQuery } from '@tanstack/preact-query'
import { answer, api } from '../../../api/client.ts'
import type { InsightBasis } from '../../../api/routes.d.ts'
import type { Own } from './read.ts'

/** Of one figure, and not of the surface that shows it. */
const OF_FIGURE = ['figure', 'rfc', 'key', 'month', 'currency', 'year', 'category']

/** A figure as its surface says it. */
export interface Sum {
  value: string | number
  formulas: Record<string, string>
}

type Part = Record<string, unknown>
const isPart = (value: unknown): value is Part => typeof value === 'object' && value !== null

/** What the surface of a figure was asked, as an address can say it again. */
export const surfaceOf = (path: string, own: Own): Own => {
  // A month of withholdings is a row of its surface, and no parameter of it.
  const names = path === '/cfdi/withholdings' ? [...OF_FIGURE, 'period'] : OF_FIGURE
  return Object.fromEntries(Object.entries(own).filter(([name]) => !names.includes(name)))
}

function isAddressOf(href: unknown, own: Own): boolean {
  if (typeof href !== 'string' || !href.includes('/entries?')) return false
  const said = [...new URLSearchParams(href.slice(href.indexOf('?')))]
  return said.length === Object.keys(own).length && said.every(([name, value]) => own[name] === value)
}

/** The value of a line of a payment. */
const lineOf = (data: unknown, line: string): unknown =>
  Array.isArray(data) ? data.find((one) => isPart(one) && one['line'] === line)?.value : undefined

/** What `cobrado.iva_16` names: a member of a member, or of a list the amount of a month. */
function valueAt(part: unknown, key: string): unknown {
  if (!isPart(part)) return undefined
  if (key in part) return isPart(part[key]) && 'iva' in part[key] ? part[key]['iva'] : part[key]
  const [head = '', ...rest] = key.split('.')
  const next = part[head]
  if (Array.isArray(next)) return next.find((one) => isPart(one) && one['month'] === rest.join('.'))?.amount
  return rest.length > 0 ? valueAt(next, rest.join('.')) : lineOf(part['data'], key)
}

/** Every value of an answer whose documents the address lists. */
function* valuesOf(part: unknown, own: Own, whole: unknown): Generator<unknown> {
  if (!isPart(part)) return
  const { drilldown, ...members } = part
  if (isPart(drilldown))
    for (const [key, href] of Object.entries(drilldown)) if (isAddressOf(href, own)) yield valueAt(part, key) ?? valueAt(whole, key)
  for (const member of Object.values(members)) yield* valuesOf(member, own, whole)
}

async function read(path: string, own: Own): Promise<Sum | null> {
  const query: object = { ...surfaceOf(path, own), ...((own['rfc'] || own['key']) && { limit: 100 }) }
  const whole = (await answer(api.GET(`/v1${path}` as '/v1/analytics/risk', { params: { query } }))) as unknown as { basis: InsightBasis }
  const values = [...valuesOf(whole, own, whole)]
  const value = values.find((one) => typeof one === 'string') ?? values.find((one) => typeof one === 'number')
  return typeof value === 'string' || typeof value === 'number' ? { value, formulas: whole.basis.formulas } : null
}

/** The figure that its entries add up to. Null where the surface says no such figure, such as one of several months together. */
export function useSum(path: string, own: Own) {
  // Indicators are shares, which no documents add up to; the IVA of one supplier is of no row.
  const isSaid = path !== '/analytics/risk' && !(path === '/analytics/vat-position' && own['rfc'])
  return useQuery({ queryKey: [path, 'sum', own], enabled: isSaid, queryFn: () => read(path, own) }).data ?? null
}

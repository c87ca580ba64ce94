import { nulls } from '../pick.ts'
import {
  type Concepto,
  type DocumentDetail,
  detailOf,
  type Iedu,
  LINE_HEADER,
  newConcepto,
  newDocument,
  type Repair,
  type Tax,
} from '../xml/document.ts'

const TAX = ['impuesto', 'tipo_factor', 'tasa_o_cuota', 'base', 'importe'] as const
const LISTS = ['cuenta_predial', 'pedimentos'] as const
const IEDU = ['nombre_alumno', 'curp', 'nivel_educativo', 'aut_rvoe', 'rfc_pago'] as const

/** A line as JSON: a list of its members in the order below, without the empty ones at its end. Stored lines are read in this order too. */
export function lineText(line: Concepto): string {
  const members: unknown[] = [
    ...LINE_HEADER.map((name) => line[name]),
    ...[line.impuestos.traslados, line.impuestos.retenciones].map((taxes) => taxes.map((tax) => TAX.map((name) => tax[name]))),
    line.a_cuenta_terceros_rfc,
    ...LISTS.map((name) => line[name]),
    line.iedu && IEDU.map((name) => line.iedu![name]),
  ]
  while (isEmpty(members.at(-1))) members.pop()
  return JSON.stringify(members)
}

const isEmpty = (member: unknown): boolean => member === null || (Array.isArray(member) && member.length === 0)

function lineOf(members: unknown[]): Concepto {
  const line = newConcepto()
  const take = <T>(empty: T): T => (members.shift() as T | undefined) ?? empty
  for (const name of LINE_HEADER) line[name] = take(null)
  for (const which of ['traslados', 'retenciones'] as const)
    line.impuestos[which] = take<string[][]>([]).map((tax) => Object.fromEntries(TAX.map((name, n) => [name, tax[n]])) as unknown as Tax)
  line.a_cuenta_terceros_rfc = take(null)
  for (const name of LISTS) line[name] = take([])
  const iedu = take<(string | null)[] | null>(null)
  line.iedu = iedu && (Object.fromEntries(IEDU.map((name, n) => [name, iedu[n]])) as unknown as Iedu)
  return line
}

/**
 * A document's part of a chunk, as JSON: its detail without members that are null or an empty list, and its lines, which are JSON already.
 */
export function contentText(document: DocumentDetail, lines: readonly string[]): string {
  const { conceptos: _, ...detail } = detailOf(document)
  const kept = Object.fromEntries(Object.entries(detail).filter(([, member]) => !isEmpty(member)))
  return `[${JSON.stringify(kept)},[${lines.join(',')}]]`
}

/** A document's part of a chunk with one more repair. */
export function withRepair(content: string, repair: Repair): string {
  const [detail, lines] = JSON.parse(content) as [Partial<DocumentDetail>, unknown]
  return JSON.stringify([{ ...detail, repairs: [...new Set([...(detail.repairs ?? []), repair])] }, lines])
}

/** A detail of which members may be unknown, because only metadata is known. */
export type KnownDetail = Omit<DocumentDetail, (typeof UNKNOWN)[number]> & {
  [Name in (typeof UNKNOWN)[number]]: DocumentDetail[Name] | null
}

const UNKNOWN = ['impuestos', 'has_addenda'] as const
const EMPTY = newDocument('cfdi', '')

/** Reads a part of a chunk. Without one, all is null or an empty list. */
export function contentOf(part: unknown): KnownDetail {
  const [detail, lines] = (part ?? [nulls(UNKNOWN), []]) as [Partial<DocumentDetail>, unknown[][]]
  return detailOf({ ...EMPTY, ...detail, conceptos: lines.map(lineOf) })
}

import type { Rows } from '../../../parts/read-table.ts'
import { isOddRfc } from '../connect/check-digit.ts'

/** A row of the table: what is sent, and why it is not. */
export interface Draft {
  /** The number of its row, for whoever looks into the file. */
  row: number
  rfc: string
  ciec: string
  name: string
  fault: 'shape' | 'twice' | 'empty' | 'known' | null
  /** It is sent all the same: some real RFCs have another check digit. */
  isOdd: boolean
}

const RFC = /^[A-ZÑ&]{3,4}\d{6}[A-Z\d]{2}[A\d]$/
const HEADINGS = {
  rfc: /^rfc$/i,
  ciec: /^(ciec|contraseña|contrasena|clave|password)$/i,
  name: /^(nombre|razón social|razon social|name)$/i,
}

const normal = (text: string): string => text.normalize('NFC').toUpperCase().replace(/[\s-]/gu, '')

/**
 * What the rows of a table connect. Its columns are named by a heading; without one they are RFC, CIEC and name. Null where no column is of
 * RFCs.
 */
export function draftsOf(rows: Rows, known: ReadonlySet<string>): Draft[] | null {
  const [head = []] = rows
  const headings = head.map((cell) => cell.trim())
  const isHeaded = headings.some((cell) => HEADINGS.rfc.test(cell))
  const columnOf = (name: keyof typeof HEADINGS, otherwise: number): number =>
    isHeaded ? headings.findIndex((cell) => HEADINGS[name].test(cell)) : otherwise
  const [rfcs, ciecs, names] = [columnOf('rfc', 0), columnOf('ciec', 1), columnOf('name', 2)]
  if (!isHeaded && !RFC.test(normal(head[0] ?? ''))) return null
  const seen = new Set<string>()
  return rows.slice(isHeaded ? 1 : 0).map((cells, n) => {
    const [rfc, ciec, name] = [normal(cells[rfcs] ?? ''), (cells[ciecs] ?? '').trim(), (cells[names] ?? '').trim()]
    const fault = !RFC.test(rfc) ? 'shape' : seen.has(rfc) ? 'twice' : known.has(rfc) ? 'known' : ciec === '' ? 'empty' : null
    seen.add(rfc)
    return { row: n + (isHeaded ? 2 : 1), rfc, ciec, name, fault, isOdd: isOddRfc(rfc) }
  })
}

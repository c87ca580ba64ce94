import type { SandboxCancellation, SandboxComprobante } from '../world/comprobante.ts'
import { pacOf, stampedAt } from '../world/stamp.ts'
import { money } from '../xml/markup.ts'

const COLUMNS = [
  'Uuid',
  'RfcEmisor',
  'NombreEmisor',
  'RfcReceptor',
  'NombreReceptor',
  'RfcPac',
  'FechaEmision',
  'FechaCertificacionSat',
  'Monto',
  'EfectoComprobante',
  'Estatus',
  'FechaCancelacion',
  'Motivo',
  'FolioSustitucion',
]

/** A document with its cancellation at the time of the download, null while it is valid. */
export interface Reported {
  document: SandboxComprobante
  cancellation: SandboxCancellation | null
}

/** Returns a metadata TXT: the twelve columns of the bulk service and the portal's columns about cancellations (sat.md 1.7, 7). */
export function metadataText(list: readonly Reported[]): string {
  const rows = list.map(({ document, cancellation }) => [
    document.uuid,
    document.emisor.rfc,
    document.emisor.nombre,
    document.receptor.rfc,
    document.receptor.nombre,
    pacOf(document),
    document.fecha.replace('T', ' '),
    stampedAt(document).replace('T', ' '),
    money(document.amounts.total),
    document.tipo ?? '',
    cancellation ? '0' : '1',
    cancellation?.at.replace('T', ' ') ?? '',
    cancellation?.motivo ?? '',
    cancellation?.folio_sustitucion ?? '',
  ])
  return [COLUMNS, ...rows].map((row) => `${row.join('~')}\r\n`).join('')
}

import type { Locality } from './places.ts'
import { isCompany, type Taxpayer } from './taxpayers.ts'

/**
 * Since 2022 documents are CFDI 4.0 with Pagos 2.0 (and retenciones 2.0), and cancellations have a reason. Before, they are 3.3, 1.0 and
 * 1.0.
 */
export const isOld = (fecha: string): boolean => fecha < '2022'

/** Returns the rate of IVA in millionths. In the northern border region it is lower since 2019. */
export const ivaAt = ({ border }: Locality, fecha: string): number => (border && fecha >= '2019' ? 80_000 : 160_000)

/** Returns a party under the regime that it had then. The regime 626 exists since 2022. */
export const partyAt = (party: Taxpayer, fecha: string): Taxpayer =>
  party.regimen === '626' && isOld(fecha) ? { ...party, regimen: isCompany(party.rfc) ? '601' : '612' } : party

const USES = { P: 'CP01', N: 'CN01', T: 'S01', E: 'G02' } as const

/** Returns a use of the catalog c_UsoCFDI that the receiver's regime and the version of the document allow. */
export function usoOf(tipo: 'I' | 'E' | 'P' | 'N' | 'T' | null, fecha: string, emisor: Taxpayer, receptor: Taxpayer): string {
  const uso = tipo === 'I' || tipo === null ? saleUse(emisor, receptor) : USES[tipo]
  // 3.3 has one code, “por definir”, for what 4.0 distinguishes.
  return isOld(fecha) && !/^[GID]/.test(uso) ? 'P01' : uso
}

function saleUse({ lines }: Taxpayer, receptor: Taxpayer): string {
  if (receptor.regimen === '616') return 'S01'
  if (lines.includes('medico') && !isCompany(receptor.rfc)) return receptor.regimen === '626' ? 'S01' : 'D01'
  return lines.includes('computo') ? 'I04' : lines.includes('papeleria') ? 'G01' : 'G03'
}

/** Returns a cancellation, with a reason and a substitute if there were such then. `at` is a local time of central Mexico. */
export const cancellationAt = (at: string, motivo: string, folio_sustitucion: string | null = null) => ({
  ...{ at, motivo: isOld(at) ? null : motivo },
  folio_sustitucion: isOld(at) ? null : folio_sustitucion,
})

import type { Ctx } from '../../platform/context.ts'
import { centralDayOf } from '../../platform/time/months.ts'
import { stepByStep } from '../../platform/work/pause.ts'
import type { Cfdi } from '../contract.ts'
import type { Language } from './catalogs.ts'

export type { Language }

type StateOfCfdi = Pick<Cfdi, 'estatus' | 'cancelled_at' | 'cancellation_reason' | 'folio_sustitucion' | 'status_checked_at'>

/** Makes the PDF of a document in its state: the same bytes for the same document, state and language. */
export async function printPdf(
  { settings }: Pick<Ctx, 'settings'>,
  xml: Uint8Array,
  { estatus, cancelled_at, cancellation_reason, folio_sustitucion, status_checked_at }: StateOfCfdi,
  language: Language,
): Promise<Uint8Array<ArrayBuffer>> {
  // Rarely used, and large with its font and catalogs.
  const { makingPdf } = await import('./pdf.ts')
  const state = {
    ...{ estatus, cancellation_reason, substitute: folio_sustitucion, isSandbox: settings.taxAuthority === 'sandbox' },
    cancelled_on: cancelled_at?.slice(0, 10) ?? null,
    checked_on: status_checked_at === null ? null : centralDayOf(Date.parse(status_checked_at)),
  }
  return stepByStep(makingPdf(xml, state, language))
}

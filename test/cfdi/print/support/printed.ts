import type { PrintedState } from '../../../../src/cfdi/print/sheet.ts'

/** The state of a document of which the authority says nothing special. */
export const VALID: PrintedState = {
  ...{ estatus: 'vigente', cancelled_on: null, checked_on: null, cancellation_reason: null, substitute: null, isSandbox: false },
}

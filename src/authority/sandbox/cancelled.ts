import type { CancellationOverride } from './documents/port.ts'
import type { SandboxCancellation } from './world/comprobante.ts'
import { localTime } from './world/places.ts'

const arranged = (override: CancellationOverride | undefined): SandboxCancellation | null =>
  override ? { at: localTime(override.cancelled_at), motivo: override.cancellation_reason, folio_sustitucion: null } : null

/** The cancellation of a document, past or to come: the generated one or that of a test helper. A document is cancelled only once. */
export function cancellationOf(
  generated: SandboxCancellation | null,
  override: CancellationOverride | undefined,
): SandboxCancellation | null {
  const own = arranged(override)
  if (generated === null || own === null) return generated ?? own
  return generated.at <= own.at ? generated : own
}

import type { ExtractionEnd } from '../../../downloads/ends/extraction-ends.ts'
import type { AlertDraft } from '../../../platform/alerts/alerts.ts'
import { keyOfInvalid } from '../../../platform/alerts/kinds.ts'

/** The connection that an alert is about. */
interface AlertedConnection {
  organization_id: string
  fiscal_entity_id: string
  rfc: string
}

const DAY_MS = 86_400_000

/** The alert of a connection that has no valid login any more. It is resolved when the connection leaves that state. */
export const alertOfInvalid = (
  { organization_id, fiscal_entity_id, rfc }: AlertedConnection,
  { rejected_at }: { rejected_at: string },
  takesCiec: boolean,
): AlertDraft => ({
  ...{ organization_id, kind: 'connection.invalid', severity: 'critical', resource_id: fiscal_entity_id },
  dedupe_key: keyOfInvalid(fiscal_entity_id),
  message: `Since ${rejected_at.slice(0, 10)} the connection to ${rfc} has no valid ${takesCiec ? 'CIEC or e.firma' : 'e.firma'}, and nothing is downloaded. Send a valid one with PATCH /v1/fiscal-entities/${fiscal_entity_id}.`,
  message_es: `Desde el ${rejected_at.slice(0, 10)} la conexión de ${rfc} no tiene una ${takesCiec ? 'CIEC ni e.firma' : 'e.firma'} válida y no se descarga nada. Envíe una válida.`,
})

/** The alert of an RFC whose runs have failed for a day, or the one that a run without failures resolves. */
export function alertOfEnd(
  { organization_id, fiscal_entity_id, rfc }: AlertedConnection,
  { failing_since, completed_at, error_class }: ExtractionEnd,
): { alert?: AlertDraft; resolves?: string } {
  const dedupe_key = `connection.failing:${fiscal_entity_id}`
  if (error_class === null) return { resolves: dedupe_key }
  if (failing_since === null || completed_at - failing_since < DAY_MS) return {}
  const since = new Date(failing_since).toISOString().slice(0, 10)
  return {
    alert: {
      ...{ organization_id, kind: 'connection.failing', severity: 'critical', dedupe_key, resource_id: fiscal_entity_id },
      message: `Downloads of ${rfc} have failed in every run since ${since}, the last time because of ${error_class}. The next run asks for them again; GET /v1/fiscal-entities/${fiscal_entity_id}/sync says what to do.`,
      message_es: `Las descargas de ${rfc} han fallado en cada ejecución desde el ${since}, la última por ${error_class}. La siguiente ejecución las pide de nuevo.`,
    },
  }
}

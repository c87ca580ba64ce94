import { LISTED } from '../../authority/sandbox/lists/listed.ts'
import type { PublicSource, Situacion } from '../catalog.ts'
import type { ListingStep } from '../listing-status.ts'
import type { ListEntry } from './entries.ts'

/** The day up to which the sandbox's lists are current. */
export const SANDBOX_DAY = '2026-01-01'

const step = (situacion: Situacion | null, sat_at: string, dof_at: string | null): ListingStep => ({
  ...{ situacion, sat_at, dof_at },
  oficio: situacion && `500-05-${sat_at.slice(0, 4)}-${situacion.length}${sat_at.slice(5, 7)} de fecha ${sat_at}`,
})

const PRESUMED = step('presunto', '2023-03-01', '2023-03-24')
const RESOLVED: Record<Exclude<Situacion, 'presunto'>, ListingStep> = {
  desvirtuado: step('desvirtuado', '2024-02-01', '2024-02-26'),
  definitivo: step('definitivo', '2024-06-03', '2024-06-28'),
  sentencia_favorable: step('sentencia_favorable', '2025-04-01', '2025-04-29'),
}

function historyOn(source: PublicSource, situacion: Situacion): ListingStep[] {
  if (source === 'sat_69b') return situacion === 'presunto' ? [PRESUMED] : [PRESUMED, RESOLVED[situacion]]
  if (source === 'sat_69b_bis') return [RESOLVED.definitivo]
  return [step(null, '2022-05-16', null)]
}

/** The entries of a list in the sandbox, in the order of their RFCs. */
export const sandboxEntries = (source: PublicSource): ListEntry[] =>
  LISTED.filter(({ lists }) => source === 'sat_69b' || (lists as readonly string[]).includes(source))
    .map(({ rfc, nombre, situacion }) => {
      const history = historyOn(source, situacion)
      return { rfc, name: nombre, situacion: history.at(-1)!.situacion, history, has_undated: false }
    })
    .sort((a, b) => (a.rfc < b.rfc ? -1 : 1))

import { fnv1a } from '../../../platform/hash.ts'
import { ABSENT, type Registry, type RegistryRecord } from './registry.ts'

/** Records that test helpers gave the sandbox registry to answer with. */
export interface RecordOverrides {
  find(rfc: string): Promise<RegistryRecord | null>
}

/** A registry that answers with the override of an RFC, or else with a generated record, always of the same kind for an RFC. */
export const sandboxRegistry = (overrides: RecordOverrides, now: Date): Registry => ({
  lookUp: async (rfc) => (await overrides.find(rfc)) ?? generatedRecord(rfc, now),
})

/** Of ten RFCs, four are registered, one of them without an end; three are absent, two expire soon, and one has expired. */
const KINDS = [
  'registered',
  'absent',
  'registered',
  'expiring',
  'absent',
  'registered',
  'expired',
  'absent',
  'expiring',
  'endless',
] as const

const PLACES = [
  ['Ciudad de México', 'Cuauhtémoc'],
  ['Nuevo León', 'San Pedro Garza García'],
  ['Jalisco', 'Zapopan'],
  ['Querétaro', 'Querétaro'],
] as const

const ACTIVITIES = ['Servicios de limpieza', 'Servicios de vigilancia', 'Mantenimiento de instalaciones', 'Servicios de comedor'] as const

/** The number of an RFC from which its record is generated. */
function numberOf(rfc: string): number {
  const hash = fnv1a(rfc)
  return (hash ^ (hash >>> 15)) >>> 0
}

/** The fifteenth of the month so many months from now. For one month that is within 60 days on any day, so `expiring` always holds. */
const fifteenth = (now: Date, months: number): string =>
  new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + months, 15)).toISOString().slice(0, 10)

function generatedRecord(rfc: string, now: Date): RegistryRecord {
  const number = numberOf(rfc)
  const kind = KINDS[number % KINDS.length]!
  if (kind === 'absent') return ABSENT
  const [entidad, municipio] = PLACES[(number >>> 4) % PLACES.length]!
  const folio = String(10_000 + (number % 90_000))
  const count = 1 + ((number >>> 6) % 2)
  const ends = { registered: fifteenth(now, 20), expiring: fifteenth(now, 1), expired: fifteenth(now, -2), endless: null }
  return {
    ...ABSENT,
    is_registered: true,
    folio,
    razon_social: `PRESTADORA ${rfc.slice(0, 3)} ${folio}, S.A. DE C.V.`,
    entidad,
    municipio,
    vigencia_hasta: ends[kind],
    actividades: Array.from({ length: count }, (_, n) => ({ descripcion: ACTIVITIES[(number + n) % ACTIVITIES.length]!, folio })),
  }
}

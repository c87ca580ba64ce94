import { ABSENT, type Registry, type RegistryRecord } from './registry.ts'

/** What test helpers told the sandbox, which it otherwise has no memory of. */
export interface SandboxRecords {
  find(rfc: string): Promise<RegistryRecord | null>
}

/** A registry that makes up its records: what it was told, else always the same kind of record for an RFC. */
export const sandboxRegistry = (told: SandboxRecords, now: Date): Registry => ({
  lookUp: async (rfc) => (await told.find(rfc)) ?? madeUp(rfc, now),
})

/** Of ten RFCs four are registered, one of them without an end; three are absent, two expire soon, one has expired. */
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

/** A number that the RFC always has (FNV-1a). */
function numberOf(rfc: string): number {
  let hash = 0x811c9dc5
  for (const letter of rfc) hash = Math.imul(hash ^ letter.codePointAt(0)!, 0x01000193)
  return (hash ^ (hash >>> 15)) >>> 0
}

/** The fifteenth of a month so many months from now: what expires soon does so at any time of the month. */
const fifteenth = (now: Date, months: number): string =>
  new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + months, 15)).toISOString().slice(0, 10)

function madeUp(rfc: string, now: Date): RegistryRecord {
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

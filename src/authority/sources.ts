import type { Ctx, System } from '../platform/context.ts'
import { type Fault, invalid } from '../platform/failures.ts'
import { meant } from '../platform/names.ts'
import type { Page } from '../platform/paging/cursor.ts'
import { WHOLE } from '../platform/paging/cursor.ts'
import type { DataSource, SourceWarnings } from './contract.ts'
import { loginsOf } from './logins.ts'
import { DATA_SOURCE_KEYS, type DataSourceKey } from './port/authority.ts'

type CatalogEntry = Omit<DataSource, 'key' | 'is_active'>

const cfdi = { is_mandatory: false, is_premium: false, kind: 'cfdi' } as const
const file = { is_mandatory: false, is_premium: false, kind: 'document' } as const

const SOURCES: Record<DataSourceKey, CatalogEntry> = {
  sat_cfdi_issued: {
    ...cfdi,
    label: 'CFDI emitidos',
    description: 'Los CFDI y retenciones que el RFC emitió, por mes: XML y estado de cada uno.',
  },
  sat_cfdi_received: {
    ...cfdi,
    label: 'CFDI recibidos',
    description: 'Los CFDI y retenciones que el RFC recibió, por mes: XML y estado de cada uno; de los cancelados, solo los metadatos.',
  },
  sat_csf: {
    ...file,
    label: 'Constancia de situación fiscal',
    description: 'La constancia vigente, en PDF: identificación, domicilio, actividades, regímenes y obligaciones.',
  },
  sat_opinion_32d: {
    ...file,
    label: 'Opinión de cumplimiento (32-D)',
    description: 'La opinión del cumplimiento de obligaciones fiscales, en PDF: folio, fecha y sentido.',
  },
  sat_obligations: {
    ...file,
    label: 'Obligaciones fiscales',
    description: 'Las obligaciones registradas ante el SAT, con su vencimiento y sus fechas de inicio y fin.',
  },
  sat_declaracion_anual: {
    ...file,
    label: 'Declaraciones anuales',
    description: 'Las declaraciones anuales presentadas, normales y complementarias, y sus acuses, en PDF.',
  },
  sat_declaracion_mensual: {
    ...file,
    label: 'Declaraciones mensuales',
    description: 'Los pagos provisionales y definitivos presentados, normales y complementarios, y sus acuses, en PDF.',
  },
  sat_miinformacion: {
    ...file,
    label: 'Mi información',
    description:
      'Los datos con los que el RFC está inscrito, su domicilio y medios de contacto, y las notificaciones de su buzón tributario.',
    is_mandatory: true,
  },
  sat_certificates: {
    ...file,
    label: 'Certificados',
    description: 'Los certificados de e.firma y de sello digital (CSD): número de serie, estado y vigencia.',
  },
  sat_rug: {
    ...file,
    label: 'Registro Único de Garantías',
    description: 'Las garantías mobiliarias a cargo del RFC: número, tipo, acreedor, inscripción y vigencia.',
    is_premium: true,
  },
}

/** The keys of the sources that deliver files. */
export const documentKeys: readonly DataSourceKey[] = DATA_SOURCE_KEYS.filter((key) => SOURCES[key].kind === 'document')

/** Returns the keys of the active sources: those that the configured tax authority delivers. */
export const activeKeys = (system: System): readonly DataSourceKey[] => loginsOf(system).sources

/** The warnings of an answer from these sources: one for each that the deployment does not download. */
export function inactiveWarnings(system: System, keys: readonly DataSourceKey[]): SourceWarnings {
  const active = activeKeys(system)
  return keys
    .filter((key) => !active.includes(key))
    .map((key) => ({
      code: 'source.inactive',
      message: `This deployment does not download ${key}: nothing new of it is here, whatever the tax authority has. GET /v1/fiscal-entities/data-sources says what is downloaded.`,
    }))
}

const inCatalogOrder = (belongs: (key: DataSourceKey) => boolean): DataSourceKey[] => DATA_SOURCE_KEYS.filter(belongs)

/** Returns the keys and the mandatory ones, each once, in the order of the catalog. */
export const withMandatory = (keys: readonly string[]): DataSourceKey[] =>
  inCatalogOrder((key) => keys.includes(key) || SOURCES[key].is_mandatory)

/** Returns the keys that are downloaded by default: the active ones that are not premium, and the mandatory ones. */
export const defaultKeys = (active: readonly DataSourceKey[]): DataSourceKey[] =>
  withMandatory(active.filter((key) => !SOURCES[key].is_premium))

/**
 * Returns a fault for each key of the array at `path` that is neither active nor mandatory. The service shows mandatory sources in every
 * list, so they may also be sent where the authority does not deliver them: they stay in the list, and nothing of them is downloaded.
 */
export const unknownKeyFaults = (keys: readonly string[], path: string, active: readonly string[]): Fault[] =>
  keys.flatMap((key, n) =>
    active.includes(key) || SOURCES[key as DataSourceKey]?.is_mandatory
      ? []
      : {
          path: `${path}[${n}]`,
          message: isKnown(key)
            ? `Must be an active data source: ${active.join(', ')}. This deployment does not download ${key}.`
            : `Must be one of ${active.join(', ')}.${meant(key, active)} GET /v1/fiscal-entities/data-sources lists them.`,
        },
  )

const isKnown = (key: string): boolean => DATA_SOURCE_KEYS.includes(key as DataSourceKey)

/**
 * Throws Failure 422 with the faults of `unknownKeyFaults`: data_source.unknown, or data_source.inactive when the catalog has all refused
 * keys.
 */
export function refuseUnknownKeys(keys: readonly string[], path: string, active: readonly string[]): void {
  const [first, ...others] = unknownKeyFaults(keys, path, active)
  if (!first) return
  if (keys.every(isKnown)) throw invalid('data_source.inactive', [first, ...others])
  throw invalid('data_source.unknown', [first, ...others])
}

/** Returns the whole catalog as one page. */
export function listDataSources(ctx: Ctx): Page<DataSource> {
  const active = activeKeys(ctx)
  const data = DATA_SOURCE_KEYS.map((key) => ({ key, ...SOURCES[key], is_active: active.includes(key) }))
  return { data, ...WHOLE }
}

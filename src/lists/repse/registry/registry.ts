/** A specialized service of a registration. */
export interface Activity {
  descripcion: string
  folio: string
}

/** The registry's record of an RFC. Days are `YYYY-MM-DD`. */
export interface RegistryRecord {
  is_registered: boolean
  folio: string | null
  /** The name as the registry spells it. */
  razon_social: string | null
  entidad: string | null
  municipio: string | null
  num_aviso: string | null
  fecha_aviso: string | null
  /** The last day of the registration; null when the registry publishes none. */
  vigencia_hasta: string | null
  actividades: Activity[]
}

/** The record of an RFC that is not registered. */
export const ABSENT: RegistryRecord = {
  is_registered: false,
  folio: null,
  razon_social: null,
  entidad: null,
  municipio: null,
  num_aviso: null,
  fecha_aviso: null,
  vigencia_hasta: null,
  actividades: [],
}

/** The port to the public registry of providers of specialized services (REPSE). The sandbox and the live registry implement it. */
export interface Registry {
  /**
   * Returns the record of an RFC. `nameOf` returns the taxpayer's name for a registry that is searched by name. Throws RegistryUnavailable
   * when there is no answer, which never counts as absence.
   */
  lookUp(rfc: string, nameOf: () => Promise<string | null>): Promise<RegistryRecord>
}

/** The registry gave no answer: it is down, requires a captcha, or returned an unreadable page. */
export class RegistryUnavailable extends Error {}

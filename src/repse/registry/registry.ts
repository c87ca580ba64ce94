export interface Activity {
  descripcion: string
  folio: string
}

/** What the registry publishes of an RFC. Days are `YYYY-MM-DD`. */
export interface RegistryRecord {
  is_registered: boolean
  folio: string | null
  /** As the registry writes it. */
  razon_social: string | null
  entidad: string | null
  municipio: string | null
  num_aviso: string | null
  fecha_aviso: string | null
  /** Null when no end is published. */
  vigencia_hasta: string | null
  actividades: Activity[]
}

/** The answer that an RFC is not in the registry. */
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

/** The public registry of providers of specialized services (REPSE): one port, with the sandbox and the live registry behind it. */
export interface Registry {
  /**
   * What it says of an RFC. `nameOf` tells the taxpayer's name where the registry is searched by it. Throws RegistryUnavailable when there
   * is no answer, and never takes that for absence.
   */
  lookUp(rfc: string, nameOf: () => Promise<string | null>): Promise<RegistryRecord>
}

/** The registry gave no answer: it is down, wants a captcha, or wrote something that cannot be read. */
export class RegistryUnavailable extends Error {}

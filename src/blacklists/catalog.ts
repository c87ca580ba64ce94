/** The lists that there are, what they are called, and how grave it is to be on them (insights.md 8.13). */

export const SITUACIONES = ['presunto', 'definitivo', 'desvirtuado', 'sentencia_favorable'] as const
export type Situacion = (typeof SITUACIONES)[number]

export const SEVERITIES = ['info', 'low', 'medium', 'high', 'critical'] as const
export type Severity = (typeof SEVERITIES)[number]

/** The organization_id of the lists that everybody may look up. */
export const EVERYBODY = ''

interface PublicList {
  label: string
  /** Of being on it; of a list with situations, of a situation that it does not know. */
  severity: Severity
}

export const PUBLIC_LISTS = {
  sat_69b: { label: 'Art. 69-B (EFOS)', severity: 'high' },
  sat_69b_bis: { label: 'Art. 69-B Bis (pérdidas)', severity: 'high' },
  sat_69_firmes: { label: 'Art. 69 (créditos firmes)', severity: 'medium' },
  sat_69_exigibles: { label: 'Art. 69 (créditos exigibles)', severity: 'medium' },
  sat_69_no_localizados: { label: 'Art. 69 (no localizados)', severity: 'medium' },
  sat_69_sentencias: { label: 'Art. 69 (sentencias)', severity: 'medium' },
  sat_69_cancelados: { label: 'Art. 69 (créditos cancelados)', severity: 'info' },
  sat_69_condonados: { label: 'Art. 69 (créditos condonados)', severity: 'info' },
  sat_csd_sin_efectos: { label: 'CSD sin efectos (Art. 17-H)', severity: 'high' },
} as const satisfies Record<string, PublicList>
export type PublicSource = keyof typeof PUBLIC_LISTS

const OF_SITUACION: Record<Situacion, Severity> = {
  definitivo: 'critical',
  presunto: 'high',
  desvirtuado: 'low',
  sentencia_favorable: 'low',
}

/** A list of an organization's own. */
const CUSTOM = /^custom:[a-z0-9]+(?:-[a-z0-9]+)*$/

const publicList = (source: string): PublicList | undefined =>
  Object.hasOwn(PUBLIC_LISTS, source) ? PUBLIC_LISTS[source as PublicSource] : undefined

export const isSource = (text: string): boolean => publicList(text) !== undefined || (text.length <= 64 && CUSTOM.test(text))

/** The Spanish name of a list; that of an organization's own is the one that it gave. */
export const labelOf = (source: string, own: string | null): string => publicList(source)?.label ?? own ?? source

export const severityOf = (source: string, situacion: Situacion | null): Severity =>
  situacion === null ? (publicList(source)?.severity ?? 'medium') : OF_SITUACION[situacion]

/** The gravest; null of none. */
export const worst = (severities: readonly Severity[]): Severity | null =>
  severities.length === 0 ? null : SEVERITIES[Math.max(...severities.map((one) => SEVERITIES.indexOf(one)))]!

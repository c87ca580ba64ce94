/** The keys of the data sources, in the order of the catalog (service.md, Data sources). */
export const DATA_SOURCE_KEYS = [
  'sat_cfdi_issued',
  'sat_cfdi_received',
  'sat_csf',
  'sat_opinion_32d',
  'sat_obligations',
  'sat_declaracion_anual',
  'sat_declaracion_mensual',
  'sat_miinformacion',
  'sat_certificates',
  'sat_rug',
] as const

export type DataSourceKey = (typeof DATA_SOURCE_KEYS)[number]

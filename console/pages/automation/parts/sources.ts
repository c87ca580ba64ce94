import { useQuery } from '@tanstack/preact-query'
import { useContext } from 'preact/hooks'
import type { DataSource } from '../../../api/routes.d.ts'
import { LanguageContext } from '../../../language.ts'
import { sourcesQuery } from './queries.ts'

/** What data sources are called in English: the API's labels are the Spanish names of the authority. */
export const IN_ENGLISH: Record<DataSource['key'], string> = {
  sat_cfdi_issued: 'Issued CFDIs',
  sat_cfdi_received: 'Received CFDIs',
  sat_csf: 'Tax status certificate (CSF)',
  sat_opinion_32d: 'Compliance opinion (32-D)',
  sat_obligations: 'Tax obligations',
  sat_declaracion_anual: 'Annual returns',
  sat_declaracion_mensual: 'Monthly returns',
  sat_miinformacion: 'Registered data and tax mailbox',
  sat_certificates: 'Certificates',
  sat_rug: 'Registry of guarantees (RUG)',
}

/** The data sources with what they are called in the language that is spoken. */
export function useSources() {
  const isEnglish = useContext(LanguageContext) === 'en'
  const query = useQuery(sourcesQuery)
  const data = isEnglish ? query.data?.map((one) => ({ ...one, label: IN_ENGLISH[one.key] ?? one.label })) : query.data
  return { ...query, data }
}

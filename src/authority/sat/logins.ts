import type { System } from '../../platform/context.ts'
import { Unavailable } from '../../platform/failures.ts'
import type { AuthorityLogins } from '../port/authority.ts'
import { DATA_SOURCE_KEYS, type DataSourceKey } from '../port/catalog.ts'
import { paceOf, sendOf } from './send.ts'
import { CertificateRefused, satSession } from './session.ts'
import { Unanswered } from './unanswered.ts'

const CFDI: readonly DataSourceKey[] = ['sat_cfdi_issued', 'sat_cfdi_received']

const sourcesOf = ({ settings: { fetcherKeys, fetcherSources } }: System): readonly DataSourceKey[] =>
  fetcherKeys === null
    ? CFDI
    : DATA_SOURCE_KEYS.filter((key) => fetcherSources === null || CFDI.includes(key) || fetcherSources.includes(key))

/**
 * The logins of the real authority, by its web services. They take e.firmas only, and deliver CFDIs only. A fetcher brings the other sources from
 * the authority's portal, with a CIEC.
 */
export const satLogins = (system: System): AuthorityLogins => ({
  sources: sourcesOf(system),
  kinds: ['efirma'],
  documentKind: 'ciec',
  answersMailbox: false,
  async verify(login) {
    if (!('efirma' in login))
      throw new Unavailable('sat_unavailable', 'The web services of the tax authority take no CIEC, only an e.firma.')
    try {
      await satSession(sendOf(system), login.efirma, paceOf(system, login.rfc)).login('cfdi')
      return true
    } catch (error) {
      if (error instanceof CertificateRefused) return false
      if (error instanceof Unanswered) throw new Unavailable('sat_unavailable', error.message)
      throw error
    }
  },
})

import type { CertificateList, ComplianceOpinion, TaxStatus } from '../../authority/port/fields-contract.ts'
import type { Rules } from '../../authority/rules/dated.ts'
import { readRows } from '../../platform/db/statement.ts'
import type { ScopedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import { changesOf } from '../changes.ts'
import type { FieldChange } from '../contract.ts'
import type { Obligation } from './contract.ts'
import { obligationsOf } from './obligations-of.ts'
import { readRegistrations, readVersions } from './store.ts'

/** The contents of an RFC's documents about its compliance. */
export interface Filings {
  opinions: { date: string; sense: ComplianceOpinion['sense'] }[]
  changes: ({ date: string } & FieldChange)[]
  obligations: Obligation[]
  certificates: CertificateList['certificates']
}

/** Reads the compliance opinions, changes in the tax status, obligations and certificates that the organization may read. Two calls. */
export async function readFilings(ledger: ScopedLedger, today: string, rules: Rules): Promise<Filings> {
  const [[registration], versions] = await Promise.all([readRegistrations(ledger.d1, [ledger]), readRows(ledger.d1, readVersions(ledger))])
  const of = <Fields>(kind: string) =>
    versions
      .filter((one) => one.kind === kind)
      .map(({ document_date, fields }) => ({ date: document_date, fields: JSON.parse(fields) as Fields }))
  const states = of<TaxStatus>('csf')
  return {
    opinions: of<ComplianceOpinion>('opinion_32d').map(({ date, fields }) => ({ date, sense: fields.sense })),
    changes: states.flatMap(({ date, fields }, n) =>
      changesOf(states[n - 1]?.fields ?? null, fields).map((change) => ({ date, ...change })),
    ),
    obligations: obligationsOf({ rfc: ledger.rfc, today, rules, ...registration! }),
    certificates: of<CertificateList>('certificates').at(-1)?.fields.certificates ?? [],
  }
}

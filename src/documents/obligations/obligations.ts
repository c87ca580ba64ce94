import type { CertificateList, ComplianceOpinion, TaxStatus } from '../../authority/port/fields-contract.ts'
import type { Rules } from '../../authority/rules/dated.ts'
import { rulesAt } from '../../authority/rules/rules.ts'
import { inactiveWarnings } from '../../authority/sources.ts'
import type { Ctx } from '../../platform/context.ts'
import { readRows } from '../../platform/db/statement.ts'
import { WHOLE } from '../../platform/paging/cursor.ts'
import { centralDayOf } from '../../platform/time/months.ts'
import { openLedger, type ScopedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import { changesOf } from '../changes.ts'
import type { FieldChange } from '../contract.ts'
import type { Obligation, Obligations } from './contract.ts'
import { obligationsOf } from './obligations-of.ts'
import { readRegistrations, readVersions } from './store.ts'

const NOTES = [
  'The obligations are those of the latest list of obligations, or else of the latest tax status certificate, that are in force.',
  'A return files an obligation of its period only if it shows the same tax or form, by its impuesto or by an amount of it, and no other ' +
    'obligation in force declares the same.',
  'An obligation that is past due and that no return shows is overdue if your runs download returns and there is none of the period, and ' +
    'unknown if there is one for something else. The DIOT, and what no return is known to show, are never overdue.',
  'A due date on a weekend or holiday moves to the next business day (CFF, article 12). Vacations of the authority do not move it. A Friday, ' +
    'from which only returns that are filed at a bank are moved, is not moved.',
  'Due days and extensions are those of the rules in force on the last day of the period.',
  'The status goes by due_date, because the extension has exceptions.',
]

/** The sources of obligations, and of the returns that show them as filed. */
const SOURCES = ['sat_csf', 'sat_obligations', 'sat_declaracion_anual', 'sat_declaracion_mensual'] as const

/**
 * Returns the obligations of an RFC, for the last twelve months that are over, the last three years and the current ones. Throws Failure 404
 * fiscal_entity.not_found.
 */
export async function listObligations(ctx: Ctx): Promise<Obligations> {
  const ledger = openLedger(ctx)
  const { rfc, fiscal_entity_id } = ledger
  const today = centralDayOf(ctx.now.getTime())
  const [rules, [found]] = await Promise.all([rulesAt(ctx, today), readRegistrations(ledger.d1, [ledger])])
  const { source, ...registration } = found!
  const data = obligationsOf({ rfc, today, rules, ...registration })
  return {
    ...{ fiscal_entity_id, rfc, as_of: today },
    source: source && { document_id: source.document_id, data_source_key: source.source, document_date: source.document_date },
    basis: { rules: rules.basis(), notes: NOTES },
    warnings: inactiveWarnings(ctx, SOURCES),
    data,
    ...WHOLE,
  }
}

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

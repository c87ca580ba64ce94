import * as z from 'zod'

/** Documents as fields. The Worker that reads PDFs (pdf/) and the adapters of the tax authority fill them. */

const text = z.string().nullable()
const day = z.iso.date().nullable()

const TaxAddress = z.strictObject({
  postal_code: text,
  street_type: text,
  street: text,
  exterior_number: text,
  interior_number: text,
  neighborhood: text,
  locality: text,
  municipality: text,
  state: text,
  between_street: text,
  and_street: text,
})

export const TaxRegime = z
  .strictObject({
    code: text.meta({ description: 'The code in c_RegimenFiscal; null when the name is none of the catalog.' }),
    name: z.string(),
    from: day,
    to: day,
  })
  .meta({ id: 'TaxRegime' })
export type TaxRegime = z.infer<typeof TaxRegime>

export const TaxObligation = z
  .strictObject({
    description: z.string(),
    due_rule: text.meta({ description: 'When it is due, in the tax authority’s words.' }),
    from: day,
    to: day,
  })
  .meta({ id: 'TaxObligation' })
export type TaxObligation = z.infer<typeof TaxObligation>

export const TaxStatus = z
  .strictObject({
    rfc: z.string(),
    name: z.string(),
    capital_regime: text.meta({ description: 'Régimen Capital of a company, such as SOCIEDAD ANONIMA DE CAPITAL VARIABLE.' }),
    commercial_name: text,
    curp: text,
    id_cif: text,
    status: text.meta({ description: 'Estatus en el padrón, such as ACTIVO, REACTIVADO or SUSPENDIDO.' }),
    status_changed_on: day,
    operations_started_on: day,
    issued_on: day,
    address: TaxAddress,
    economic_activities: z.array(z.strictObject({ description: z.string(), percentage: text, from: day, to: day })),
    regimes: z.array(TaxRegime),
    obligations: z.array(TaxObligation),
  })
  .meta({ id: 'TaxStatus', description: 'What a tax status certificate (constancia de situación fiscal) says.' })
export type TaxStatus = z.infer<typeof TaxStatus>

export const SENSES = ['positivo', 'negativo', 'en_suspension', 'inscrito_sin_obligaciones', 'no_inscrito'] as const
export const OpinionSense = z.enum(SENSES).meta({ id: 'OpinionSense', description: 'Sentido of a compliance opinion (article 32-D).' })
export type OpinionSense = z.infer<typeof OpinionSense>

export const ComplianceOpinion = z
  .strictObject({ rfc: z.string(), name: text, folio: z.string(), sense: OpinionSense, date: z.iso.date() })
  .meta({ id: 'ComplianceOpinion', description: 'What a compliance opinion says.' })
export type ComplianceOpinion = z.infer<typeof ComplianceOpinion>

export const Certificate = z
  .strictObject({
    serial: z.string().meta({ description: 'The number of the certificate, 20 digits.' }),
    kind: z.enum(['efirma', 'csd']),
    status: z.enum(['active', 'revoked', 'expired']).meta({ description: 'As the tax authority lists it.' }),
    valid_from: z.iso.date(),
    valid_to: z.iso.date().meta({ description: 'The last day on which it is valid.' }),
  })
  .meta({ id: 'Certificate' })
export type Certificate = z.infer<typeof Certificate>

export const CertificateList = z.strictObject({ certificates: z.array(Certificate) }).meta({ id: 'CertificateList' })
export type CertificateList = z.infer<typeof CertificateList>

export const ObligationList = z.strictObject({ obligations: z.array(TaxObligation) }).meta({ id: 'ObligationList' })
export type ObligationList = z.infer<typeof ObligationList>

/** The fields of a document; which ones depends on its data source. */
export const DocumentFields = z.union([TaxStatus, ComplianceOpinion, CertificateList, ObligationList])
export type DocumentFields = z.infer<typeof DocumentFields>

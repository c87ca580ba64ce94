import * as z from 'zod'

/** The classes of which something is withheld. */
export const WITHHOLDING_CLASSES = [
  ...(['autotransporte', 'resico_pf', 'arrendamiento', 'comision', 'honorarios'] as const),
  ...(['desperdicios', 'servicios_personal'] as const),
] as const

/** The rules of withholding classes. */
export const WITHHOLDING_KEYS = [
  'withholding.resico_primario',
  'withholding.resico_autotransporte',
  'withholding.resico_desperdicios',
  'withholding.resico_pf',
  'withholding.autotransporte',
  'withholding.desperdicios',
  'withholding.servicios_personal',
  'withholding.arrendamiento',
  'withholding.comision',
  'withholding.agentes',
  'withholding.honorarios',
] as const

/** A rule that a figure rests on, as the `basis` of an aggregate cites it. */
export const RuleBasis = z.strictObject({
  key: z.string(),
  value: z.unknown().meta({ description: 'The value that was used; null for a catalog, which is too long to be repeated.' }),
  rule_ref: z.string().meta({ description: 'The provision that says so, or the page that proposes it.' }),
  valid_from: z.iso.date(),
  valid_to: z.iso.date().nullable().meta({ description: 'The last day; null while no end is known.' }),
  source: z.string(),
  confidence: z.enum(['verified', 'from_memory', 'proposed']).meta({
    description:
      '`verified`: read in its source. `from_memory`: written from memory, to be checked. `proposed`: no provision says it; the operator may set another value.',
  }),
})
export type RuleBasis = z.infer<typeof RuleBasis>

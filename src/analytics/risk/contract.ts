import * as z from 'zod'
import { Direction } from '../../cfdi/contract.ts'
import { Paging, pageOf } from '../../platform/http/shapes.ts'
import { requireFiscalEntity } from '../../taxpayers/contract.ts'
import { Envelope, LEFT_OUT, money, Range } from '../common/contract.ts'
import { FLAG_CODES, type FlagCode } from './flags.ts'

export const LEVELS = ['low', 'medium', 'high', 'critical'] as const
export type Level = (typeof LEVELS)[number]

const csvOf = <T extends string>(values: readonly T[]) =>
  z
    .string()
    .transform((text) => [...new Set(text.split(','))])
    .pipe(z.array(z.enum(values as [T, ...T[]])).min(1))
    .optional()
    .meta({ documented: { type: 'string', description: `One or more of ${values.join(', ')}, separated by commas.` } })

const own = {
  ...Range,
  direction: Direction.optional().meta({ description: 'Both by default.' }),
  level: csvOf(LEVELS),
  code: csvOf<FlagCode>(FLAG_CODES),
  min_total: z
    .string()
    .regex(/^\d{1,18}(\.\d{1,6})?$/, 'Must be a decimal number with at most 18 digits before the point and 6 after it.')
    .optional()
    .meta({ description: 'Least total in MXN. Documents without a known exchange rate are left out.' }),
}

/** The query of GET /v1/cfdi/risk. */
export const RiskQuery = z.strictObject({ ...own, ...Paging }).superRefine(requireFiscalEntity)
export type RiskQuery = z.infer<typeof RiskQuery>

export const RiskEntriesQuery = z
  .strictObject({ ...own, ...Paging, figure: z.enum(LEFT_OUT).meta({ description: 'What `data_quality` counts.' }) })
  .superRefine(requireFiscalEntity)
export type RiskEntriesQuery = z.infer<typeof RiskEntriesQuery>

const level = z.enum(LEVELS)

const Flag = z.strictObject({
  code: z.enum(FLAG_CODES as [FlagCode, ...FlagCode[]]),
  weight: z.int().meta({ description: 'What the flag adds to the score: its weight in the rule risk.weights.' }),
  severity: level.meta({ description: 'The level of the flag’s weight alone.' }),
  message: z.string(),
  rule_ref: z.string(),
  evidence: z
    .record(z.string(), z.unknown())
    .meta({ description: 'What the flag rests on, by its code: the guide [Codes](/docs/codes) explains each.' }),
})
export type Flag = z.infer<typeof Flag>

const RiskRow = z
  .strictObject({
    uuid: z.string(),
    direction: Direction,
    tipo_comprobante: z.string().nullable(),
    issued_at: z.string(),
    counterparty_rfc: z.string(),
    counterparty_name: z.string().nullable(),
    total: z.string().nullable().meta({ description: 'In `currency`.' }),
    currency: z.string().nullable(),
    total_mxn: money.nullable().meta({ description: 'Null without XML or without an exchange rate.' }),
    score: z.int().meta({ description: 'The sum of the weights of its flags, at most 100.' }),
    level,
    flags: z.array(Flag),
  })
  .meta({ id: 'RiskRow' })
export type RiskRow = z.infer<typeof RiskRow>

export const Risk = z.strictObject({ ...Envelope, ...pageOf(RiskRow).shape }).meta({ id: 'Risk' })
export type Risk = z.infer<typeof Risk>

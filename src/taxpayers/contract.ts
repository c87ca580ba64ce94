import * as z from 'zod'
import { idOfUuid, isId } from '../platform/db/id.ts'
import { documented, UUID } from '../platform/http/shapes.ts'
import { GENERIC_RFCS, isRfc, normalRfc } from './rfc.ts'

export const Rfc = z
  .string()
  .max(30)
  .transform(normalRfc)
  .refine(isRfc, 'Not an RFC: 12 or 13 characters with a valid date.')
  .refine((rfc) => !GENERIC_RFCS.includes(rfc), 'A generic RFC stands for nobody and cannot be connected.')
  .meta({ documented: { type: 'string', description: '12 or 13 characters; upper-cased.', examples: ['EKU9003173C9'] } })

/** A fiscal entity's identifier, `fe_…` or the same 128 bits as a UUID. Read as `fe_…`. */
export const FiscalEntityId = documented(
  z
    .string()
    .transform((text) => (UUID.test(text) ? idOfUuid('fe', text) : text))
    .refine((text) => isId('fe', text), 'Not an identifier with the prefix fe_.'),
  { type: 'string', description: 'Prefix `fe_`; its UUID form is accepted too.' },
)

/** What a member can be seen as: `unlinked` connections are gone from every answer. */
export const ConnectionStatus = z.enum(['draft', 'active', 'paused', 'invalid_ciec']).meta({ id: 'ConnectionStatus' })

/** Names one fiscal entity in a query: `fiscal_entity_id`, or `fiscalEntityId`. */
export const ofFiscalEntity = {
  fiscal_entity_id: FiscalEntityId.optional().meta({ documented: { type: 'string', description: 'Required: this or `fiscalEntityId`.' } }),
  fiscalEntityId: FiscalEntityId.optional().meta({ documented: { type: 'string', description: 'The same under another name.' } }),
}

interface FiscalEntityNames {
  fiscal_entity_id?: string | undefined
  fiscalEntityId?: string | undefined
}

/** The refinement that goes with `ofFiscalEntity`. */
export const requireFiscalEntity = (query: FiscalEntityNames, context: z.RefinementCtx): void => {
  if (query.fiscal_entity_id === undefined && query.fiscalEntityId === undefined)
    context.addIssue({ code: 'custom', path: ['fiscal_entity_id'], message: 'Required.' })
  else if (query.fiscal_entity_id !== undefined && query.fiscalEntityId !== undefined && query.fiscal_entity_id !== query.fiscalEntityId)
    context.addIssue({ code: 'custom', path: ['fiscalEntityId'], message: 'Says something else than fiscal_entity_id.' })
}

export const FiscalEntityPath = z.strictObject({ fiscal_entity_id: FiscalEntityId })

/** What a 404 of a fiscal read says. */
export const NOT_READABLE = 'There is no active connection to the fiscal entity. One that is paused for a debt can be read all the same.'

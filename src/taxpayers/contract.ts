import * as z from 'zod'
import { idOfUuid, isId } from '../platform/db/id.ts'
import { documented, UUID } from '../platform/http/shapes.ts'
import { GENERIC_RFCS, isRfc, normalRfc } from './rfc.ts'

export const Rfc = z
  .string()
  .max(30)
  .transform(normalRfc)
  .refine(isRfc, 'Must be an RFC: 12 or 13 characters with a valid date, of which the last is a digit or A.')
  .refine((rfc) => !GENERIC_RFCS.includes(rfc), 'Must not be a generic RFC, because a generic RFC belongs to no taxpayer.')
  .meta({
    documented: {
      type: 'string',
      description: '12 or 13 characters. Lower case, spaces and hyphens are accepted.',
      examples: ['EKU9003173C9'],
    },
  })

const WHERE = 'GET /v1/fiscal-entities lists them, also by rfc.'

/** A fiscal entity's identifier: `fe_…`, or the same 128 bits as a UUID, which is converted to `fe_…`. */
export const FiscalEntityId = documented(
  z
    .string()
    .transform((text) => (UUID.test(text) ? idOfUuid('fe', text) : text))
    .refine((text) => isId('fe', text), `Must be an identifier with the prefix fe_, or its UUID form. ${WHERE}`),
  { type: 'string', description: 'An identifier with the prefix `fe_`, or its UUID form.' },
)

/** The states in which a connection is shown; unlinked connections are not shown. */
export const ConnectionStatus = z.enum(['draft', 'active', 'paused', 'invalid_ciec']).meta({ id: 'ConnectionStatus' })

/** Query parameters that name a fiscal entity: `fiscal_entity_id`, or `fiscalEntityId`. */
export const ofFiscalEntity = {
  fiscal_entity_id: FiscalEntityId.optional().meta({
    documented: { type: 'string', description: 'Required, unless `fiscalEntityId` is given.' },
  }),
  fiscalEntityId: FiscalEntityId.optional().meta({
    documented: { type: 'string', description: 'Alternative spelling of `fiscal_entity_id`.' },
  }),
}

interface FiscalEntityNames {
  fiscal_entity_id?: string | undefined
  fiscalEntityId?: string | undefined
}

/** The refinement of a schema with `ofFiscalEntity`: one of the two is required, and both must agree. */
export const requireFiscalEntity = (query: FiscalEntityNames, context: z.RefinementCtx): void => {
  if (query.fiscal_entity_id === undefined && query.fiscalEntityId === undefined)
    context.addIssue({ code: 'custom', path: ['fiscal_entity_id'], message: `Is required. ${WHERE}` })
  else if (query.fiscal_entity_id !== undefined && query.fiscalEntityId !== undefined && query.fiscal_entity_id !== query.fiscalEntityId)
    context.addIssue({ code: 'custom', path: ['fiscalEntityId'], message: 'Must be the same as fiscal_entity_id.' })
}

export const FiscalEntityPath = z.strictObject({ fiscal_entity_id: FiscalEntityId })

/** The description of 404 in operations that read fiscal data. */
export const NOT_READABLE =
  'The organization has no connection to the fiscal entity (`fiscal_entity.not_found`), or one that is not active (`fiscal_entity.not_active`: `detail` says its state and ' +
  'what makes it active). A connection that an unpaid invoice paused can still be read.'

import * as z from 'zod'
import { Paging } from '../../platform/http/shapes.ts'
import { ofFiscalEntity, requireFiscalEntity } from '../../taxpayers/contract.ts'
import { Cfdi } from '../contract.ts'

export const REASONS = ['appeared', 'xml', 'cancelled', 'status', 'payment', 'substituted', 'removed'] as const
export type ChangeReason = (typeof REASONS)[number]

/** The query of GET /v1/cfdi/changes. */
export const ChangesQuery = z
  .strictObject({
    ...ofFiscalEntity,
    limit: Paging.limit.meta({ description: 'The greatest number of changes in the answer.' }),
    cursor: z
      .string()
      .optional()
      .meta({
        description:
          'The next_cursor of the last answer that you have dealt with. It does not expire, and asking again with the same one is harmless. Without one, the ' +
          'changes begin with everything that you may read. Keep room for 2,000 characters: it usually has about 900, and never more than 2,000.',
      }),
    from: z.enum(['now']).optional().meta({
      description: 'Without a cursor: `now` leaves out everything until now. The answer is empty and has the cursor to go on with.',
    }),
  })
  .superRefine(requireFiscalEntity)
  .refine(({ cursor, from }) => cursor === undefined || from === undefined, {
    path: ['from'],
    message: 'Send from only without a cursor.',
  })
export type ChangesQuery = z.infer<typeof ChangesQuery>

export const CfdiChange = z
  .strictObject({
    uuid: z.string().meta({ description: 'In upper case.' }),
    reasons: z.array(z.enum(REASONS).meta({ id: 'CfdiChangeReason' })).meta({
      description:
        'Why it is told, each once. `appeared`: it was stored, or your windows begin to show it. `xml`: it got its XML. `cancelled`. `status`: the ' +
        'authority answered your status check. `payment`: its balance may have changed. `substituted`: whether it is substituted, or substitutes another ' +
        'one that is vigente, may have changed. `removed`: you do not see it any more, and it is the only one.',
    }),
    cfdi: Cfdi.nullable().meta({ description: 'The document as `GET /v1/cfdi` lists it now. Null when it is removed.' }),
  })
  .meta({ id: 'CfdiChange' })
export type CfdiChange = z.infer<typeof CfdiChange>

export const CfdiChanges = z
  .strictObject({
    data: z.array(CfdiChange),
    has_more: z.boolean().meta({
      description:
        'Whether to ask again at once. If true, the answer has `limit` changes. It has fewer if the service had to examine many changes that your organization may not see.',
    }),
    next_cursor: z.string().meta({ description: 'The cursor for the next request, also when nothing has changed.' }),
  })
  .meta({ id: 'CfdiChanges' })
export type CfdiChanges = z.infer<typeof CfdiChanges>

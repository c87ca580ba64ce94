import * as z from 'zod'
import { documented, UUID } from '../platform/http/shapes.ts'

/** A CFDI's UUID in any case, read in upper case. */
export const CfdiUuid = documented(
  z
    .string()
    .regex(UUID, 'Not a UUID.')
    .transform((text) => text.toUpperCase()),
  { type: 'string', format: 'uuid', description: 'In any case.' },
)

import * as z from 'zod'
import { Paging } from '../../platform/http/shapes.ts'
import { EventQuery } from '../events/contract.ts'

export const WatchQuery = z.strictObject({ ...Paging, since: EventQuery.shape.since })
export type WatchQuery = z.infer<typeof WatchQuery>

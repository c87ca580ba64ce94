import * as z from 'zod'
import { Paging } from '../../platform/http/shapes.ts'

export const WatchQuery = z.strictObject(Paging)
export type WatchQuery = z.infer<typeof WatchQuery>

import type { FixedFilters } from '../../cfdi/search/search.ts'
import type { Ctx } from '../../platform/context.ts'
import type { Connection } from '../../platform/tenant/tenant.ts'

const OF_WINDOWS = [
  ...(['first_active_at', 'imported_at', 'issued_from', 'issued_to', 'issued_reaches'] as const),
  ...(['received_from', 'received_to', 'received_reaches'] as const),
]

/** What an organization could read of an RFC when it asked for an export, and what its filters meant then. */
export interface Start {
  filters: FixedFilters
  extractor_count: number
  connection: Pick<Connection, (typeof OF_WINDOWS)[number]>
}

type Reader = Pick<Ctx, 'organization'> & { connection: Connection }

export const startOf = ({ organization, connection }: Reader, filters: FixedFilters): Start => ({
  filters,
  extractor_count: organization.extractor_count,
  connection: Object.fromEntries(OF_WINDOWS.map((name) => [name, connection[name]])) as Start['connection'],
})

/** The reader as it was then, on the connection of now. */
export const readerAt = <R extends Reader>(reader: R, { extractor_count, connection }: Start): R => ({
  ...reader,
  organization: { ...reader.organization, extractor_count },
  connection: { ...reader.connection, ...connection },
})

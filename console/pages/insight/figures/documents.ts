import { queryOptions, useQueries } from '@tanstack/preact-query'
import { answer, api } from '../../../api/client.ts'
import type { Cfdi } from '../../../api/routes.d.ts'

/** What rows of figures, which name documents by their UUID, do not say of them. */
export type Document = Pick<Cfdi, 'uuid' | 'fecha' | 'serie' | 'folio' | 'currency' | 'counterparty'>

/** As many as a search takes. */
const MOST = 100

async function read(fiscal_entity_id: string, uuids: readonly string[]): Promise<Document[]> {
  const query = { fiscal_entity_id, uuid: uuids.join(), limit: MOST }
  const { data } = (await answer(api.GET('/v1/cfdi', { params: { query } }))) as unknown as { data: Document[] }
  return data
}

const piecesOf = (uuids: readonly string[], page: number): string[][] => {
  const all = [...new Set(uuids)]
  return Array.from(all.keys())
    .filter((n) => n % page === 0)
    .map((n) => all.slice(n, n + page))
}

const pieceQuery = (fiscal_entity_id: string, piece: readonly string[]) =>
  queryOptions({ queryKey: ['cfdi-of-entries', fiscal_entity_id, piece], queryFn: () => read(fiscal_entity_id, piece) })

/** The documents that rows name. Those of a list that grows are asked for page by page, so that none is asked for twice. */
export function useDocuments(fiscal_entity_id: string, uuids: readonly string[], page = MOST): Map<string, Document> {
  const found = useQueries({ queries: piecesOf(uuids, page).map((piece) => pieceQuery(fiscal_entity_id, piece)) })
  return new Map(found.flatMap(({ data }) => data?.map((one) => [one.uuid, one] as const) ?? []))
}

/** What a document is called, as everywhere: by its series and folio, else by the beginning of its UUID. */
export const documentName = (uuid: string, known: Pick<Document, 'serie' | 'folio'> | undefined): string =>
  [known?.serie, known?.folio].filter(Boolean).join(' ') || uuid.slice(0, 8)

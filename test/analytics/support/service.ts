import type { Cfdi } from '../../../src/cfdi/contract.ts'
import { getCfdi } from '../../../src/cfdi/detail/detail.ts'
import { type IngestTarget, ingestMetadata } from '../../../src/cfdi/ingest/ingest.ts'
import { CfdiSearch } from '../../../src/cfdi/search/contract.ts'
import { searchCfdi } from '../../../src/cfdi/search/search.ts'
import type { Ctx } from '../../../src/platform/context.ts'
import { all } from '../../cfdi/support/book.ts'
import { ingestZip } from '../../cfdi/support/ingest-zip.ts'
import { FISCAL_ENTITY } from '../../support/context.ts'
import { zipOf } from '../../support/zip.ts'
import type { Document } from '../oracle/world.ts'
import type { Year } from '../years/year.ts'

const utf8 = new TextEncoder()

/** Downloads a year as the authority delivers it: the metadata of all documents, and the XML of most. */
export async function ingestYear(target: IngestTarget, year: Year): Promise<void> {
  const withXml = year.documents.filter(({ isMetadataOnly }) => !isMetadataOnly)
  const statuses = new Map(year.documents.map(({ uuid, listed }) => [uuid, listed]))
  const files = withXml.map(({ uuid, xml }) => ({ name: `${uuid.toLowerCase()}.xml`, bytes: utf8.encode(xml) }))
  await all(ingestZip({ ...target, rfc: year.rfc }, zipOf(files), statuses))
  await all(ingestMetadata({ ...target, rfc: year.rfc }, () => [[...statuses.values()]]))
  await namedBeside(target)
}

/**
 * Puts what half of the documents name beside their rows, as it stands of one that names more than 100. A credit note of several stays as it is:
 * of those, what it takes off invoices that are not shown is added up, and rounded once.
 */
async function namedBeside({ ledger, entity }: IngestTarget): Promise<void> {
  const isMeant =
    "entity = ? and unicode(substr(uuid, -1)) % 2 = 0 and (json_array_length(related) = 1 or (related is not null and tipo_comprobante = 'P'))"
  await ledger.batch(
    [
      `insert into cfdi_related select entity, uuid, related from cfdi where ${isMeant}`,
      `update cfdi set related = json_array_length(related) where ${isMeant}`,
    ].map((sql) => ledger.prepare(sql).bind(entity)),
  )
}

/** Every document that an organization can read, with its detail, through the API's own verbs. */
export async function readDocuments(ctx: Ctx): Promise<Document[]> {
  const rows: Cfdi[] = []
  for (let cursor: string | null = null; ; ) {
    const query = { fiscal_entity_id: FISCAL_ENTITY, limit: '100', ...(cursor !== null && { cursor }) }
    const page: Awaited<ReturnType<typeof searchCfdi>> = await searchCfdi(ctx, CfdiSearch.parse(query))
    rows.push(...page.data)
    if (!page.has_more) break
    cursor = page.next_cursor
  }
  const documents: Document[] = []
  for (const { uuid } of rows) documents.push(await getCfdi(ctx, uuid))
  return documents
}

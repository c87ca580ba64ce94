import { expect, vi } from 'vitest'
import { post } from '../../cfdi/imports/support/imports.ts'
import type { Organization } from '../../support/tenants.ts'
import { zipOf } from '../../support/zip.ts'
import { metadataOf, type Written, xmlOf } from './xml.ts'

/** Imports documents, all of which must be new, with the metadata that says which are cancelled. */
export async function importInto(of: Organization, fiscal_entity_id: string, documents: readonly Written[]): Promise<void> {
  const utf8 = new TextEncoder()
  const files = documents.map((one) => ({ name: `${one.uuid}.xml`, bytes: utf8.encode(xmlOf(one)) }))
  const metadata = metadataOf(documents)
  if (metadata !== null) files.push({ name: 'estatus.txt', bytes: utf8.encode(metadata) })
  const { body } = await post(of.owner, fiscal_entity_id, zipOf(files))
  const path = `/v1/fiscal-entities/${fiscal_entity_id}/cfdi/imports/${body.import_id}`
  const done = await vi.waitUntil(
    async () => {
      const reply = await of.ask('GET', path)
      return reply.body.status === 'completed' && reply.body
    },
    { timeout: 30_000, interval: 50 },
  )
  const xml = done.files.filter(({ name }: { name: string }) => name.endsWith('.xml'))
  expect(xml.map(({ status }: { status: string }) => status)).toEqual(documents.map(() => 'created'))
}

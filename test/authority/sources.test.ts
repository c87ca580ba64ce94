import { describe, expect, it } from 'vitest'
import type { DataSource } from '../../src/authority/contract.ts'
import { DATA_SOURCE_KEYS } from '../../src/authority/port/catalog.ts'
import type { Page } from '../../src/platform/paging/cursor.ts'
import { organization } from '../support/tenants.ts'

describe('the catalog of data sources', () => {
  it('marks the mandatory and the premium source', async () => {
    const acme = await organization()
    const { status, body } = await acme.ask('GET', '/v1/fiscal-entities/data-sources', undefined, 'member')
    const page = body as Page<DataSource>
    expect([status, page.has_more, page.next_cursor]).toEqual([200, false, null])
    expect(page.data.map(({ key }) => key)).toEqual(DATA_SOURCE_KEYS)
    expect(page.data.filter(({ is_mandatory }) => is_mandatory).map(({ key }) => key)).toEqual(['sat_miinformacion'])
    for (const { key, label, description } of page.data) {
      expect(label, key).toMatch(/^[A-ZÁÉÍÓÚ][^.]+$/)
      // A whole sentence of what the source has, that is more than its name.
      expect(description, key).toMatch(/^(Los|Las|La|El) .{40,}\.$/)
    }
    const { description } = page.data.find(({ key }) => key === 'sat_miinformacion')!
    expect(description).toContain('buzón tributario')
    expect(page.data.filter(({ is_premium }) => is_premium).map(({ key }) => key)).toEqual(['sat_rug'])
  })
})

import { env } from 'cloudflare:workers'
import { expect, it } from 'vitest'
import { readAffected } from '../../../src/cfdi/ingest/reads.ts'

/** What breaks without it: documents that all substitute the same thousands lead to each other, and the isolate runs out of memory with each of them. */
it('of documents that substitute the same thousands of others, no more relations are read than fit into memory', async () => {
  await env.LEDGER_0.prepare(
    `with recursive n (i) as (select 0 union all select i + 1 from n where i < 9999), s (j) as (select 0 union all select j + 1 from s where j < 2)
     insert into cfdi_substitutions (entity, substituted, source) select 77, 'named ' || i, 'source ' || j from n, s`,
  ).run()
  const none = { rows: [], applied: [], linked: [], advances: [], months: [], suppliers: [] }
  const { substitutions } = await readAffected(env.LEDGER_0, 77, { ...none, linked: ['source 0'] })
  expect(substitutions).toHaveLength(20_000)
})

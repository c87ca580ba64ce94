import { defineConfig } from 'drizzle-kit'

const DOMAINS = {
  control: [
    'account',
    'billing',
    'team',
    'credentials',
    'audit',
    'entities',
    'extractors',
    'authority/sandbox',
    'queues',
    'facts',
    'webhooks',
    'alerts',
    'blacklists',
    'repse',
    'idempotency',
  ],
  ledger: ['cfdi', 'downloads', 'documents', 'imports', 'facts'],
}

const database = process.env['DATABASE']
if (database !== 'control' && database !== 'ledger') throw new Error('Say DATABASE=control or DATABASE=ledger.')

export default defineConfig({
  dialect: 'sqlite',
  schema: DOMAINS[database].map((domain) => `./src/${domain}/tables.ts`),
  out: `./migrations/${database}`,
})

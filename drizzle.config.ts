import { globSync } from 'node:fs'
import { defineConfig } from 'drizzle-kit'

const LEDGER = ['cfdi', 'downloads/jobs', 'documents', 'imports', 'mailbox', 'cfdi/checks'].map((domain) => `src/${domain}/tables.ts`)
LEDGER.push('src/authority/sat/conversation/tables.ts', 'src/authority/fetcher/tables.ts')
const REPORTS = 'src/insight/reports/tables.ts'
const EVENTS = [
  ...globSync('src/webhooks/**/tables.ts'),
  'src/alerts/tables.ts',
  'src/storage/tables.ts',
  'src/platform/receipts/tables.ts',
]
const QUOTAS = 'src/plans/tables.ts'
const GUARDS = 'src/platform/db/tables.ts'

const SCHEMAS = {
  control: globSync('src/**/tables.ts').filter((file) => ![...LEDGER, REPORTS, ...EVENTS].includes(file)),
  ledger: [...LEDGER, REPORTS, 'src/outbox/tables.ts', GUARDS],
  events: [...EVENTS, QUOTAS, 'src/platform/audit/tables.ts', GUARDS],
}

const database = process.env['DATABASE'] as keyof typeof SCHEMAS
if (!(database in SCHEMAS)) throw new Error('Set DATABASE to control, ledger or events.')

export default defineConfig({
  dialect: 'sqlite',
  schema: SCHEMAS[database].map((file) => `./${file}`),
  out: `./migrations/${database}`,
})

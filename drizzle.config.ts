import { globSync } from 'node:fs'
import { defineConfig } from 'drizzle-kit'

const LEDGER = ['cfdi', 'downloads/jobs', 'documents', 'cfdi/imports'].map((domain) => `src/${domain}/tables.ts`)
LEDGER.push('src/authority/sat/conversation/tables.ts', 'src/authority/fetcher/tables.ts')
const REPORTS = 'src/analytics/reports/tables.ts'
const EVENTS = ['src/delivery/tables.ts', 'src/platform/alerts/tables.ts', 'src/copies/tables.ts', 'src/platform/receipts/tables.ts']
const QUOTAS = 'src/accounts/plans/tables.ts'
const GUARDS = 'src/platform/db/tables.ts'

const SCHEMAS = {
  control: globSync('src/**/tables.ts').filter((file) => ![...LEDGER, REPORTS, ...EVENTS].includes(file)),
  ledger: [...LEDGER, REPORTS, 'src/platform/outbox/tables.ts', GUARDS],
  events: [...EVENTS, QUOTAS, 'src/platform/audit/tables.ts', GUARDS],
}

const database = process.env['DATABASE'] as keyof typeof SCHEMAS
if (!(database in SCHEMAS)) throw new Error('Set DATABASE to control, ledger or events.')

export default defineConfig({
  dialect: 'sqlite',
  schema: SCHEMAS[database].map((file) => `./${file}`),
  out: `./migrations/${database}`,
})

import { globSync } from 'node:fs'
import { defineConfig } from 'drizzle-kit'

const LEDGER = ['cfdi', 'downloads', 'documents', 'imports'].map((domain) => `src/${domain}/tables.ts`)
const BOTH = ['src/outbox/tables.ts', 'src/platform/db/tables.ts']

const SCHEMAS = {
  control: globSync('src/**/tables.ts').filter((file) => !LEDGER.includes(file)),
  ledger: [...LEDGER, ...BOTH],
}

const database = process.env['DATABASE']
if (database !== 'control' && database !== 'ledger') throw new Error('Set DATABASE to control or to ledger.')

export default defineConfig({
  dialect: 'sqlite',
  schema: SCHEMAS[database].map((file) => `./${file}`),
  out: `./migrations/${database}`,
})

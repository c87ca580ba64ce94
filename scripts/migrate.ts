import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DATABASES, ROOT, wranglerTwice } from './wrangler.ts'

interface Applied {
  fingerprint: string
  files: readonly string[]
}

/** A hash of everything that decides which migrations wrangler applies, and to which files. */
function fingerprint(): string {
  const hash = createHash('sha256')
    .update(readFileSync(join(ROOT, 'wrangler.toml')))
    .update(readFileSync(join(ROOT, 'node_modules/wrangler/package.json')))
  for (const { migrations } of DATABASES)
    for (const name of readdirSync(migrations)
      .filter((one) => one.endsWith('.sql'))
      .sort())
      hash.update(name).update(readFileSync(join(migrations, name)))
  return hash.digest('hex')
}

const sqliteFiles = (stateDir: string): string[] => {
  const folder = join(stateDir, 'v3', 'd1')
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.sqlite'))
    .map((name) => join(folder, name))
}

function recorded(file: string): Applied | null {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Applied
  } catch {
    return null
  }
}

/**
 * Applies the migrations of every local database. Wrangler needs seconds to find that there is nothing to apply, so a record of the last
 * run is kept. It is valid while the configuration, the migrations and the database files are unchanged.
 */
export async function migrate(stateDir: string): Promise<void> {
  const record = join(stateDir, 'migrations.json')
  const known = recorded(record)
  const now = fingerprint()
  if (known?.fingerprint === now && known.files.length > 0 && known.files.every((file) => existsSync(file))) return
  for (const { binding } of DATABASES) await apply(binding, stateDir)
  writeFileSync(record, JSON.stringify({ fingerprint: now, files: sqliteFiles(stateDir) } satisfies Applied))
}

async function apply(binding: string, stateDir: string): Promise<void> {
  try {
    await wranglerTwice('d1', 'migrations', 'apply', binding, '--local', '--persist-to', stateDir)
  } catch (error) {
    // Migrations were squashed before the first deployment, so older databases have the tables under other migrations.
    if (!/already exists/.test(String(error))) throw error
    throw new Error(`An older version made the databases in ${stateDir}. Delete that folder, or choose another one with STATE_DIR.`)
  }
}

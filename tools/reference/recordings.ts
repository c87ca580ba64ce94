import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../../scripts/wrangler.ts'

/** What the tests recorded of an operation (test/support/recorder). */
interface Recorded {
  request?: unknown
  success: Record<string, unknown>
  errors: Record<string, Record<string, unknown>>
}

export type Recordings = Record<string, Recorded>

const FOLDER = join(ROOT, 'docs/examples')

export function readRecordings(): Recordings {
  if (!existsSync(FOLDER)) return {}
  const files = readdirSync(FOLDER).filter((file) => file.endsWith('.json'))
  return Object.fromEntries(
    files.sort().map((file) => [file.slice(0, -5), JSON.parse(readFileSync(join(FOLDER, file), 'utf8')) as Recorded]),
  )
}

import { randomBytes } from 'node:crypto'
import { appendFileSync, chmodSync, linkSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'

const SECRETS = ['API_SECRET_KEYS', 'CIEC_KEYS', 'CURSOR_KEYS', 'WEBHOOK_KEYS', 'SESSION_KEYS']

const line = (name: string): string => `${name}=1:${randomBytes(32).toString('base64')}\n`

/** Gives the local service the secrets that it lacks. What is there stays: stored CIECs are wrapped with it. */
export function ensureSecrets(file: string): void {
  const draft = `${file}.${process.pid}`
  writeFileSync(draft, SECRETS.map(line).join(''), { mode: 0o600 })
  try {
    // Either the whole file or, when somebody has one, nothing.
    linkSync(draft, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    const text = readFileSync(file, 'utf8')
    const missing = SECRETS.filter((name) => !new RegExp(`^\\s*(export\\s+)?${name}\\s*=`, 'm').test(text))
    if (missing.length > 0) appendFileSync(file, (text === '' || text.endsWith('\n') ? '' : '\n') + missing.map(line).join(''))
  } finally {
    rmSync(draft, { force: true })
  }
  // A service that runs watches the file.
  if ((statSync(file).mode & 0o777) !== 0o600) chmodSync(file, 0o600)
}

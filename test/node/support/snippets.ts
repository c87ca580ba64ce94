import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ROOT } from '../../../scripts/wrangler.ts'

export interface Signed {
  secret: string
  /** Service-Signature. */
  header: string
  body: Buffer
}

interface Language {
  name: string
  /** The language mark of its code in docs/webhooks.md. */
  mark: string
  command: string
  file: string
  /** Says of arguments (secret, header) and standard input (body) whether they belong together, by the function of docs/webhooks.md. */
  main: string
}

export const LANGUAGES: readonly Language[] = [
  {
    ...{ name: 'Node', mark: 'js', command: process.execPath, file: 'verify.mjs' },
    main: `import { readFileSync } from 'node:fs'
console.log(isSigned(readFileSync(0), process.argv[3] || undefined, process.argv[2]) === true)`,
  },
  {
    ...{ name: 'Python', mark: 'python', command: 'python3', file: 'verify.py' },
    main: `import sys
print("true" if is_signed(sys.stdin.buffer.read(), sys.argv[2] or None, sys.argv[1]) is True else "false")`,
  },
  {
    ...{ name: 'PHP', mark: 'php', command: 'php', file: 'verify.php' },
    main: `echo is_signed(file_get_contents('php://stdin'), $argv[2] ?: null, $argv[1]) === true ? 'true' : 'false';`,
  },
]

export const isInstalled = ({ command }: Language): boolean => spawnSync(command, ['--version']).status === 0

/** The code of docs/webhooks.md under "Verifying a signature" in a language. */
export function snippetOf({ mark }: Language): string {
  const [, section = ''] = /^## Verifying a signature$(.*?)^## /ms.exec(readFileSync(join(ROOT, 'docs/webhooks.md'), 'utf8')) ?? []
  const [, code] = new RegExp(`^\`\`\`${mark}$\\n(.*?)^\`\`\`$`, 'ms').exec(section) ?? []
  if (code === undefined) throw new Error(`docs/webhooks.md verifies no signature in ${mark}.`)
  return code
}

/** The function of docs/webhooks.md, run by the language itself. */
export function verifierOf(language: Language): (signed: Signed) => boolean {
  return ({ secret, header, body }) => {
    const folder = mkdtempSync(join(tmpdir(), 'verify-'))
    try {
      const file = join(folder, language.file)
      writeFileSync(file, `${snippetOf(language)}\n${language.main}\n`)
      return execFileSync(language.command, [file, secret, header], { input: body, encoding: 'utf8' }).trim() === 'true'
    } finally {
      rmSync(folder, { recursive: true })
    }
  }
}

export const hasOpenssl = spawnSync('openssl', ['version']).status === 0

/** HMAC-SHA256 as openssl computes it, in hex. */
export const opensslHmac = (key: Buffer, data: Buffer): string =>
  execFileSync('openssl', ['dgst', '-sha256', '-mac', 'HMAC', '-macopt', `hexkey:${key.toString('hex')}`, '-r'], {
    input: data,
    encoding: 'utf8',
  }).split(' ')[0]!

import { type ChildProcess, spawn } from 'node:child_process'
import { copyFile, mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { KEY } from './bindings.ts'
import type { Rig } from './rig.ts'
import type { FastifySetup } from './workers/fastify.ts'

/** Copies the two databases of the rig, which it does not write meanwhile. */
async function copies({ bundle }: Rig): Promise<Pick<FastifySetup, 'control' | 'ledger'>> {
  const [from, to] = [join(bundle, '..', '..', 'state', 'Database'), join(bundle, '..', '..', 'fastify')]
  await mkdir(to, { recursive: true })
  const names = (await readdir(from)).filter((name) => name.includes('.sqlite') && !name.startsWith('metadata'))
  await Promise.all(names.map((name) => copyFile(join(from, name), join(to, name))))
  const found = { control: '', ledger: '' }
  for (const file of names.filter((name) => name.endsWith('.sqlite')).map((name) => join(to, name))) {
    const database = new DatabaseSync(file)
    const tables = database.prepare("select name from sqlite_master where name in ('cfdi', 'credentials')").all()
    database.close()
    for (const { name } of tables) found[name === 'cfdi' ? 'ledger' : 'control'] = file
  }
  return found
}

/** Starts the server of workers/fastify.ts: its origin, and how to end it. */
export async function startFastify(
  rig: Rig,
  setup: Omit<FastifySetup, 'control' | 'ledger' | 'key'>,
): Promise<{ origin: string; stop(): void }> {
  const child: ChildProcess = spawn(process.execPath, [join(import.meta.dirname, 'workers', 'fastify.ts')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdin!.end(JSON.stringify({ ...(await copies(rig)), ...setup, key: KEY.slice(KEY.indexOf(':') + 1) } satisfies FastifySetup))
  const port = await new Promise<string>((resolve, reject) => {
    child.stdout!.once('data', (line) => resolve(String(line).trim()))
    child.once('exit', (code) => reject(new Error(`The Fastify server ended with ${code}.`)))
  })
  return { origin: `http://127.0.0.1:${port}`, stop: () => child.kill('SIGKILL') }
}

import { type ChildProcess, spawn } from 'node:child_process'
import { copyFile, mkdir, readdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { KEY } from './bindings.ts'
import type { Rig } from './rig.ts'
import type { FastifySetup } from './workers/fastify.ts'

/** Copies the two databases of the rig, which it does not write meanwhile, with what is not yet in their files but beside them. */
async function copies({ state, fileOf }: Rig): Promise<Pick<FastifySetup, 'control' | 'ledger'>> {
  const to = join(state, '..', 'fastify')
  await mkdir(to, { recursive: true })
  const copyOf = async (database: string): Promise<string> => {
    const from = join(state, await fileOf(database))
    for (const name of (await readdir(dirname(from))).filter((it) => it.startsWith(basename(from))))
      await copyFile(join(dirname(from), name), join(to, name))
    return join(to, basename(from))
  }
  return { control: await copyOf('control'), ledger: await copyOf('ledger') }
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

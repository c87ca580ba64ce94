import '../../scripts/mirror/bytes.ts'
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { networkOf } from '../../scripts/mirror/network.ts'
import { ROOT } from '../../scripts/wrangler.ts'
import { destinationOf } from '../../src/storage/drivers/adapters.ts'
import type { Destination } from '../../src/storage/drivers/port.ts'
import { objectOf } from '../storage/support/wire.ts'
import { freePort, until } from './support/runner.ts'

const folder = mkdtempSync(join(tmpdir(), 'fiscal-sink-'))
let server: ChildProcess
let url: string
let destination: Destination

/** The server of docs/storage.md, and the destination that a connector has there. */
beforeAll(async () => {
  const [, script] = /^```js\n(.*?)^```$/ms.exec(readFileSync(join(ROOT, 'docs/storage.md'), 'utf8'))!
  writeFileSync(join(folder, 'sink.mjs'), script!)
  const port = await freePort()
  url = `http://127.0.0.1:${port}`
  server = spawn(process.execPath, [join(folder, 'sink.mjs')], { env: { ...process.env, PORT: String(port) } })
  await until('the server listens', 20_000, () =>
    fetch(url).then(
      () => true,
      () => false,
    ),
  )
  const config = { bucket: 'acme-cfdi', region: 'us-east-1', endpoint: null, path_style: null }
  const credentials = { access_key_id: 'AKIDEXAMPLE', secret_access_key: 'secret' }
  destination = destinationOf(networkOf({ hostname: '127.0.0.1', port }), { provider: 's3', config, credentials }, async () => {})
})
afterAll(() => {
  server.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

const textAt = async (path: string) => new TextDecoder().decode((await destination.read(path)) ?? undefined)
const fail = (failure: object | null) => fetch(url, { method: 'POST', body: JSON.stringify(failure) })

describe('the server that docs/storage.md shows for STORAGE_SINK', () => {
  it('plays S3 to the driver', async () => {
    expect(await destination.read('a/1.xml')).toBeNull()
    await destination.put('a/1.xml', await objectOf('<año/>'))
    expect(await textAt('a/1.xml')).toBe('<año/>')
    await destination.remove('a/1.xml')
    expect(await destination.read('a/1.xml')).toBeNull()
  })

  it('fails as it is told, until it is told to work again', async () => {
    const object = await objectOf('one')
    await fail({ status: 503, headers: { 'retry-after': '300' } })
    await expect(destination.put('a/2.xml', object)).rejects.toMatchObject({ code: 'unavailable', retry_after_seconds: 300 })
    await fail({ status: 403 })
    await expect(destination.put('a/2.xml', object)).rejects.toMatchObject({ code: 'access_denied' })
    await fail(null)
    await destination.put('a/2.xml', object)
    expect(await textAt('a/2.xml')).toBe('one')
  })
})

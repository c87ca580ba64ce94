import '../../scripts/mirror/bytes.ts'
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { networkOf } from '../../scripts/mirror/network.ts'
import { ROOT } from '../../scripts/wrangler.ts'
import { destinationOf } from '../../src/copies/drivers/adapters.ts'
import type { Destination } from '../../src/copies/drivers/port.ts'
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
  await until('the server listens', 240_000, () =>
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

const fail = (failure: object | null) => fetch(url, { method: 'POST', body: JSON.stringify(failure) })

/** As the driver sends it, whose MD5 Node does not compute; the driver confirms a put by these two. */
const put = async (path: string, body: string) => {
  const { status, headers } = await fetch(`${url}/${path}`, { method: 'PUT', body })
  return [status, headers.has('etag')]
}

describe('the server that docs/storage.md shows for STORAGE_SINK', () => {
  it('needs nothing that Node 20 lacks', () => {
    const [, script] = /^```js\n(.*?)^```$/ms.exec(readFileSync(join(ROOT, 'docs/storage.md'), 'utf8'))!
    expect(script).not.toMatch(/fromAsync|withResolvers|Promise\.try|groupBy|toSorted|\busing\b/)
  })

  it('plays S3 to the driver', async () => {
    expect(await destination.read('a/1.xml')).toBeNull()
    expect(await put('a/1.xml', '<año/>')).toEqual([200, true])
    expect(await destination.read('a/1.xml')).toEqual(new Uint8Array(Buffer.from('<año/>')))
    await destination.remove('a/1.xml')
    await destination.remove('a/1.xml')
    expect(await destination.read('a/1.xml')).toBeNull()
  })

  it('fails as it is told, until it is told to work again', async () => {
    await put('a/2.xml', 'two')
    await fail({ status: 503, headers: { 'retry-after': '300' } })
    await expect(destination.read('a/2.xml')).rejects.toMatchObject({ code: 'unavailable', retry_after_seconds: 300 })
    await fail({ status: 403 })
    expect(await put('a/2.xml', 'another')).toEqual([403, false])
    await expect(destination.remove('a/2.xml')).rejects.toMatchObject({ code: 'access_denied' })
    await fail({ status: 0 })
    await expect(fetch(url, { signal: AbortSignal.timeout(300) })).rejects.toMatchObject({ name: 'TimeoutError' })
    await fail(null)
    expect(await destination.read('a/2.xml')).toEqual(new Uint8Array(Buffer.from('two')))
  })
})

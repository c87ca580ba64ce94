import { spawn } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import type { Completion } from '../../scripts/fetcher/client.ts'

const LEASE_ID = '0-1-00000000-0000-4000-8000-000000000000'
const lease = (more: object) => ({
  ...{ lease_id: LEASE_ID, until: '2026-05-20T09:10:00.000Z', task: 'documents', rfc: 'EKU9003173C9', ciec: 'deAna1' },
  ...{ source: 'sat_miinformacion', month: null, ...more },
})

it('the reference fetcher brings documents and months as a process of its own', async () => {
  const offered = [lease({}), lease({ source: 'sat_csf' }), lease({ task: 'month', source: 'sat_cfdi_issued', month: '2026-04' })]
  const [uploaded, completed]: [string[], Completion[]] = [[], []]
  const { promise: isDone, resolve } = Promise.withResolvers<void>()
  const service = createServer(async (request, response) => {
    const body = Buffer.concat(await Array.fromAsync(request))
    const path = request.url!.replace(`/fetcher/v1/leases/${LEASE_ID}/`, '')
    if (request.method === 'PUT') uploaded.push(path)
    if (path === 'complete') completed.push(JSON.parse(body.toString()))
    if (completed.length === 3) resolve()
    response.setHeader('content-type', 'application/json')
    if (path === '/fetcher/v1/leases') response.end(JSON.stringify({ lease: offered.shift() ?? null }))
    else if (path === 'renew') response.end(JSON.stringify({ until: lease({}).until }))
    else response.writeHead(204).end()
  })
  await new Promise<void>((listening) => service.listen(0, '127.0.0.1', listening))
  const { port } = service.address() as AddressInfo
  const env = { ...process.env, FETCHER_KEYS: `1:${Buffer.alloc(32, 7).toString('base64')}` }
  const fetcher = spawn(process.execPath, ['scripts/fetcher.ts', `http://127.0.0.1:${port}`], { env })
  onTestFinished(() => {
    fetcher.kill()
    service.close()
  })
  await isDone
  const [information, csf, month] = completed
  expect([information!.documents!.length, information!.notifications!.length > 2, csf!.documents!.length]).toEqual([1, true, 1])
  expect(month!.xml).toBeGreaterThan(0)
  expect(uploaded.filter((path) => path.startsWith('documents/')).length).toBeGreaterThan(3)
  expect(uploaded).toContain('packages/xml/0')
})

it('the reference fetcher says what to set where there is none', async () => {
  const service = createServer((_, response) => {
    response.writeHead(404, { 'content-type': 'application/json' }).end(JSON.stringify({ code: 'request.unknown_path' }))
  })
  await new Promise<void>((listening) => service.listen(0, '127.0.0.1', listening))
  const { port } = service.address() as AddressInfo
  const env = { ...process.env, FETCHER_KEYS: `1:${Buffer.alloc(32, 7).toString('base64')}` }
  const fetcher = spawn(process.execPath, ['scripts/fetcher.ts', `http://127.0.0.1:${port}`], { env })
  onTestFinished(() => {
    fetcher.kill()
    service.close()
  })
  const said = await new Promise<string>((notified) =>
    fetcher.stderr.on('data', (chunk) => String(chunk).includes('404') && notified(String(chunk))),
  )
  expect(said).toContain('Set FETCHER_KEYS there too')
})

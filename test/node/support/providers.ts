import { type ChildProcess, spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { ROOT } from '../../../scripts/wrangler.ts'
import { s3Refusal } from '../../copies/support/s3-signature.ts'
import type { ScriptedProvider } from '../../copies/support/scripted.ts'
import { freePort, until } from './runner.ts'

export const S3 = {
  bucket: 'fiscal-archive',
  region: 'us-east-1',
  keyId: 'AKIDEXAMPLEOFTESTS01',
  secret: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
}
export const AZURE = {
  account: 'fiscalarchive',
  container: 'cfdi-archive',
  /** An endpoint that has the account in its path. */
  host: 'blob.provider.example:8443',
  key: Buffer.from('a key of sixty-four bytes as Azure gives it to storage accounts!').toString('base64'),
}

/** Whether moto is installed: `pip install 'moto[s3]' flask flask-cors`. */
export const HAS_MOTO = (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, 'moto_server')))

interface Asked {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
}

const READS_AT_ONCE = 8

const pathOf = (path: string): string => `/${path.split('/').map(encodeURIComponent).join('/')}`

/** moto reads of a request who sent it. */
const VERIFIED = { authorization: `AWS4-HMAC-SHA256 Credential=${S3.keyId}/20260101/${S3.region}/s3/aws4_request` }

/**
 * Servers of S3 (moto) and of Azure Blob (Azurite) on loopback behind one port, by the host that a request names: a STORAGE_SINK. Without
 * moto, nothing answers for S3. moto stores a body whose hash is false, and fails at an unsigned request, so a request to S3 is verified with
 * AWS's own library before moto gets it. Stand-ins answer for their own hosts.
 */
export class Providers {
  /** Requests that arrived, as `METHOD host/path`. */
  readonly arrived: string[] = []
  sink = ''
  readonly standIns: ScriptedProvider[] = []
  /** Asked for each request, once that has taken effect: a promise holds back the answer. */
  holdBack: (line: string) => Promise<void> | null = () => null
  #folder = mkdtempSync(join(tmpdir(), 'fiscal-storage-'))
  #children: ChildProcess[] = []
  #ports = { s3: 0, azure: 0 }
  #server: Server

  constructor() {
    this.#server = createServer((incoming, outgoing) => {
      this.#answer(incoming, outgoing).catch((error: unknown) => outgoing.writeHead(599).end(String(error)))
    })
  }

  async start(): Promise<void> {
    this.#ports = { s3: await freePort(), azure: await freePort() }
    if (HAS_MOTO) this.#run('moto_server', ['-H', '127.0.0.1', '-p', String(this.#ports.s3)])
    const azurite = ['--blobPort', String(this.#ports.azure), '--silent', '--disableTelemetry', '--inMemoryPersistence']
    this.#run(process.execPath, [join(ROOT, 'node_modules/azurite/dist/src/blob/main.js'), ...azurite], {
      AZURITE_ACCOUNTS: `${AZURE.account}:${AZURE.key}`,
    })
    const makeBucket = async () => !HAS_MOTO || (await this.#send('s3', 'PUT', `/${S3.bucket}`)) === 200
    await until('moto has its bucket', 240_000, makeBucket)
    await until('Azurite has its container', 240_000, async () => [201, 409].includes(await this.#makeContainer()))
    await this.listen()
  }

  /** Opens the port. By itself it is enough for stand-ins. */
  async listen(): Promise<void> {
    await new Promise<void>((done) => this.#server.listen(0, '127.0.0.1', done))
    const address = this.#server.address()
    this.sink = `http://127.0.0.1:${typeof address === 'object' ? address!.port : 0}`
  }

  stop(): void {
    this.#server.closeAllConnections()
    this.#server.close()
    for (const child of this.#children) child.kill('SIGKILL')
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 3 })
  }

  /** The media type with which a server has an object. */
  async typeOf(provider: 's3' | 'azure', path: string): Promise<string | null> {
    return (await this.#ask(provider, 'HEAD', pathOf(path))).headers['content-type'] ?? null
  }

  /** Every object that a server has, by its path. Paths are ASCII. */
  async objects(provider: 's3' | 'azure'): Promise<Map<string, Buffer>> {
    const [query, cursor] = provider === 's3' ? ['list-type=2', 'continuation-token'] : ['restype=container&comp=list', 'marker']
    const paths: string[] = []
    for (let from: string | undefined = ''; from !== undefined; ) {
      const page: string = (
        await this.#ask(provider, 'GET', '', `${query}${from && `&${cursor}=${encodeURIComponent(from)}`}`)
      ).body.toString()
      paths.push(...[...page.matchAll(/<(?:Key|Name)>([^<]+)<\/(?:Key|Name)>/g)].map(([, path]) => path!))
      from = /<(?:NextContinuationToken|NextMarker)>([^<]+)</.exec(page)?.[1]
    }
    const objects = new Map<string, Buffer>()
    const left = paths.filter((one) => one !== S3.bucket).values()
    const readRest = async (): Promise<void> => {
      for (const path of left) objects.set(path, (await this.#ask(provider, 'GET', pathOf(path))).body)
    }
    await Promise.all(Array.from({ length: READS_AT_ONCE }, readRest))
    return objects
  }

  /** Asks a server as its owner, without a driver and past the verification. */
  #ask(provider: 's3' | 'azure', method: string, path: string, query = ''): Promise<Asked> {
    const at = provider === 's3' ? `/${S3.bucket}${path}?${query}` : `/${AZURE.account}/${AZURE.container}${path}?${query}&${sasOf('rl')}`
    return new Promise((done, failed) => {
      const options = { host: '127.0.0.1', port: this.#ports[provider], method, path: at, headers: provider === 's3' ? VERIFIED : {} }
      const asked = request(options, async (answer) => {
        const body = Buffer.concat(await Array.fromAsync(answer as AsyncIterable<Buffer>))
        done({ status: answer.statusCode ?? 0, headers: answer.headers, body })
      })
      asked.on('error', failed).end()
    })
  }

  #run(command: string, args: string[], environment: Record<string, string> = {}): void {
    this.#children.push(spawn(command, args, { env: { ...process.env, ...environment }, stdio: 'ignore', cwd: this.#folder }))
  }

  /** The status of a request without a body, or 0 when nobody answers. */
  #send(to: 's3' | 'azure', method: string, path: string, headers: Record<string, string> = {}): Promise<number> {
    return new Promise((done) => {
      const sent = request(
        { host: '127.0.0.1', port: this.#ports[to], method, path, headers: { 'content-length': 0, ...headers } },
        (answer) => {
          answer.resume()
          done(answer.statusCode ?? 0)
        },
      )
      sent.on('error', () => done(0)).end()
    })
  }

  #makeContainer(): Promise<number> {
    const headers = { 'x-ms-date': new Date().toUTCString(), 'x-ms-version': '2021-12-02' }
    const own = Object.entries(headers).map(([name, value]) => `${name}:${value}`)
    const resource = `/${AZURE.account}/${AZURE.account}/${AZURE.container}\nrestype:container`
    const text = ['PUT', ...Array.from({ length: 11 }, () => ''), ...own, resource].join('\n')
    const authorization = `SharedKey ${AZURE.account}:${signatureOf(text)}`
    return this.#send('azure', 'PUT', `/${AZURE.account}/${AZURE.container}?restype=container`, { ...headers, authorization })
  }

  async #answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { method = '', url: path = '', headers } = incoming
    const host = headers.host ?? ''
    const line = `${method} ${host}${path.split('?')[0]}`
    this.arrived.push(line)
    outgoing.on('error', () => null)
    const body = Buffer.concat(await Array.fromAsync(incoming as AsyncIterable<Buffer>))
    const standIn = this.standIns.find(({ hosts }) => hosts.includes(host))
    const stored = () => this.holdBack(line)
    if (standIn) return standInAnswer(standIn, new URL(path, `https://${host}`), incoming, body, outgoing, stored)
    const isAzure = host.endsWith('.blob.core.windows.net') || host === AZURE.host
    const refused = isAzure
      ? null
      : await s3Refusal({ method, path, headers: headers as Record<string, string>, body }, secretOf, S3.region)
    if (refused) {
      outgoing.writeHead(refused.status, { 'content-type': 'application/xml' })
      return void outgoing.end(`<?xml version="1.0"?><Error><Code>${refused.code}</Code></Error>`)
    }
    const { authorization, ...rest } = headers
    // The bucket goes into the path: the servers behind do not know the host names of Amazon.
    const inHost = /^([^.]+)\.s3\.us-east-1\.amazonaws\.com$/.exec(host)?.[1]
    const to = isAzure
      ? { port: this.#ports.azure, path, headers: { ...headers, host: host === AZURE.host ? '127.0.0.1' : host } }
      : { port: this.#ports.s3, path: inHost ? `/${inHost}${path}` : path, headers: { ...rest, ...VERIFIED, host: '127.0.0.1' } }
    const forwarded = request({ host: '127.0.0.1', method, ...to }, async (answer) => {
      await stored()
      outgoing.writeHead(answer.statusCode ?? 599, answer.headers)
      answer.pipe(outgoing)
    })
    forwarded.on('error', () => outgoing.destroy()).end(body)
  }
}

async function standInAnswer(
  standIn: ScriptedProvider,
  url: URL,
  { method = '', headers }: IncomingMessage,
  body: Buffer,
  outgoing: ServerResponse,
  stored: () => Promise<void> | null,
): Promise<void> {
  const given = Object.entries(headers as Record<string, string>).filter(
    ([name]) => !['host', 'connection', 'content-length'].includes(name),
  )
  const sent = { method, headers: given, redirect: 'manual', ...(body.length > 0 && { body: new Uint8Array(body) }) } as const
  const answer = await standIn.answer(new Request(url, sent))
  const bytes = Buffer.from(await answer.arrayBuffer())
  await stored()
  outgoing.writeHead(answer.status, { ...Object.fromEntries(answer.headers), 'content-length': bytes.length }).end(bytes)
}

const secretOf = (id: string): string | undefined => (id === S3.keyId ? S3.secret : undefined)

const signatureOf = (text: string): string => createHmac('sha256', Buffer.from(AZURE.key, 'base64')).update(text).digest('base64')

/** A SAS token of the container with these permissions, signed as the documentation of service SAS says. */
export function sasOf(permissions: string): string {
  const [version, expiry] = ['2021-12-02', new Date(Date.now() + 3_600_000).toISOString().replace(/\.\d+/, '')]
  const fields = [
    permissions,
    '',
    expiry,
    `/blob/${AZURE.account}/${AZURE.container}`,
    '',
    '',
    'https,http',
    version,
    'c',
    ...Array.from({ length: 7 }, () => ''),
  ]
  const parameters = { sv: version, sr: 'c', sp: permissions, se: expiry, spr: 'https,http', sig: signatureOf(fields.join('\n')) }
  return new URLSearchParams(parameters).toString()
}

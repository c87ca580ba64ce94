import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { oneDrive } from '../../../src/copies/drivers/drives.ts'
import type { DestinationFault } from '../../../src/copies/drivers/port.ts'
import type { OneDriveCredentials as Credentials } from '../../../src/copies/provider-contract.ts'
import { quickXorHash } from '../../../src/platform/hash.ts'
import { runs } from '../../support/fuzz.ts'
import { randomOf } from '../../support/random.ts'
import { OneDriveStandIn } from '../support/onedrive-stand-in.ts'
import { type Fault, utf8 } from '../support/scripted.ts'
import { objectOf } from '../support/wire.ts'

let server: OneDriveStandIn
/** What is stored of the connector. */
let stored: Credentials
beforeEach(() => {
  server = new OneDriveStandIn()
  stored = server.credentials
})
afterEach(() => {
  vi.useRealTimers()
  expect(server.undocumented).toEqual([])
})

/** The destination as a new invocation opens it. */
const open = (credentials = stored) =>
  oneDrive(server.network, { config: server.config, credentials }, async (learned) => {
    if ('credentials' in learned) stored = learned.credentials
  })
const PATH = 'XAXX010101000/2026/11/issued/A.xml'
const grants = (): number => server.calls.filter((call) => call.endsWith('/token')).length
const graphCalls = (from: number) => server.requests.slice(from).map(({ method, url }) => `${method} ${url.pathname.split(':').at(-1)}`)
const LARGE = new Uint8Array(11 * 1_048_576).map((_, n) => (n * 7) % 251)
const large = (bytes = LARGE.length) => objectOf(LARGE.subarray(0, bytes))

describe('a path in OneDrive', () => {
  it('is a file below folders of its parts, and is replaced, read and removed', async () => {
    const drive = open()
    await drive.put(PATH, await objectOf('<one/>'))
    await drive.put(PATH, await objectOf('<two/>'))
    expect(server.tree).toEqual({ [PATH]: ['<two/>'] })
    expect(await drive.read(PATH)).toEqual(utf8('<two/>'))
    await drive.remove(PATH)
    await drive.remove(PATH)
    expect([server.tree, await drive.read(PATH), await drive.read('no/such.xml')]).toEqual([{}, null, null])
  })

  it('costs one request a document', async () => {
    const drive = open()
    await drive.put('a/b/0.xml', await objectOf('0'))
    const before = server.requests.length
    for (let n = 1; n <= 20; n++) await drive.put(`a/b/${n}.xml`, await objectOf(''))
    expect(graphCalls(before)).toEqual(Array(20).fill('PUT /content'))
    expect(Object.keys(server.tree)).toHaveLength(21)
  })

  it.each([
    ['the drive of the account', { drive_id: null }],
    ['a drive with an odd name', { drive_id: 'b!a/b?c' }],
    ['the directory common', { tenant: 'common' }],
  ])('lies in %s', async (_, config) => {
    Object.assign(server.config, config)
    await open().put('a.xml', await objectOf('1'))
    expect(server.tree).toEqual({ 'a.xml': ['1'] })
  })

  it('lies at the root of the drive without a folder', async () => {
    server.config.folder_id = null
    await open().put(PATH, await objectOf('1'))
    expect(await open().read(PATH)).toEqual(utf8('1'))
    expect(server.calls.at(-2)).toBe(`GET graph.microsoft.com/v1.0/drives/b!drive-1/root:/${PATH}:`)
  })

  it('may have any character that OneDrive allows in a name', async () => {
    const paths = ["L'été 100%/Ñandú & Cía #1.xml", 'a+b=c/{uuid} @(1).xml', `${'x'.repeat(200)}/${'y'.repeat(190)}.xml`]
    for (const path of paths) for (const content of [path, `${path}!`]) await open().put(path, await objectOf(content))
    expect(server.tree).toEqual(Object.fromEntries(paths.map((path) => [path, [`${path}!`]])))
  })

  it('gets the folders above it also where an upload does not create them', async () => {
    server.createsFolders = false
    const drive = open()
    await Promise.all(['a/b/1.xml', 'a/b/2.xml', 'a/c/d/3.xml'].map(async (path) => drive.put(path, await objectOf(path))))
    expect(Object.keys(server.tree).sort()).toEqual(['a/b/1.xml', 'a/b/2.xml', 'a/c/d/3.xml'])
    const before = server.requests.length
    await drive.put('a/b/4.xml', await objectOf('4'))
    expect(server.requests.length - before).toBe(1)
  })

  it('is stored when another upload creates its folder at the same time', async () => {
    let conflicts = 0
    const answer = { status: 409, body: { error: { code: 'nameAlreadyExists' } } }
    server.faultAt = ({ method }) => (method === 'PUT' && conflicts++ === 0 ? answer : null)
    await open().put(PATH, await objectOf('1'))
    expect(server.tree).toEqual({ [PATH]: ['1'] })
  })

  it('is looked for in a drive that exists', async () => {
    const elsewhere = oneDrive(server.network, { config: { ...server.config, folder_id: 'none' }, credentials: stored }, async () => {})
    for (const operation of [() => elsewhere.read('a.xml'), () => elsewhere.remove('a.xml')])
      await expect(operation()).rejects.toMatchObject({ code: 'not_found' })
  })

  it('is downloaded from the address that OneDrive names, without the token, unless that may not be called', async () => {
    await open().put('a.xml', await objectOf('1'))
    await open().read('a.xml')
    const download = server.requests.at(-1)!
    expect([download.url.host, download.headers.has('authorization')]).toEqual(['b0mpua-by3301.files.1drv.com', false])
    for (const url of ['https://127.0.0.1/x', 'http://files.1drv.com/x', 'https://api.service.example/x', '', null]) {
      server.faultAt = ({ method }) =>
        method === 'GET' ? { status: 200, body: { id: '1', size: 1, '@microsoft.graph.downloadUrl': url } } : null
      await expect(open().read('a.xml')).rejects.toMatchObject({ code: url === null ? 'refused' : 'address_refused' })
    }
  })
})

describe('a large object', () => {
  it('goes through an upload session, fragment by fragment', async () => {
    const object = await large()
    const drive = open()
    await drive.put('a/big.xml', object)
    await drive.put('a/big.xml', object)
    expect(Buffer.compare((await drive.read('a/big.xml'))!, object.bytes)).toBe(0)
    const sent = server.requests
      .filter(({ url, method }) => url.host.endsWith('.1drv.com') && method === 'PUT')
      .map(({ body }) => body.length)
    expect(sent).toEqual([10_485_760, 1_048_576, 10_485_760, 1_048_576])
    expect(server.sessions.size).toBe(0)
  })

  it.each(['unreachable', 'lost', 'cut', { status: 503 }] as Fault[])('goes on where it stopped after %j', async (fault) => {
    const object = await large()
    let broken = 0
    server.faultAt = ({ method, url }) => (method === 'PUT' && url.host.endsWith('.1drv.com') && broken++ === 0 ? fault : null)
    await open().put('big.xml', object)
    const wasReceived = fault === 'lost' || fault === 'cut'
    expect(server.requests.filter(({ url, method }) => url.host.endsWith('.1drv.com') && method === 'PUT')).toHaveLength(
      wasReceived ? 2 : 3,
    )
    expect(Buffer.compare((await open().read('big.xml'))!, object.bytes)).toBe(0)
  })

  it('is one file when the answer to the last fragment is lost, after a repetition', async () => {
    const object = await large()
    server.faultAt = ({ headers }) => (headers.get('content-range')?.startsWith('bytes 10485760-') ? 'lost' : null)
    await expect(open().put('big.xml', object)).rejects.toMatchObject({ code: 'connection_failed' })
    server.faultAt = () => null
    await open().put('big.xml', object)
    expect(Object.values(server.tree).map((contents) => contents.length)).toEqual([1])
  })

  it('is cancelled when the session fails', async () => {
    const object = await large()
    for (const fault of [{ status: 409, body: { error: { code: 'nameAlreadyExists' } } }, 'unreachable', 'garbage'] as Fault[]) {
      server.faultAt = ({ method, url }) => (method === 'PUT' && url.host.endsWith('.1drv.com') ? fault : null)
      await expect(open().put('big.xml', object)).rejects.toMatchObject({ code: fault === 'unreachable' ? 'connection_failed' : 'refused' })
      expect(server.sessions.size).toBe(0)
    }
    server.faultAt = () => null
    await open().put('big.xml', object)
    expect(Object.keys(server.tree)).toEqual(['big.xml'])
  })

  it.each(['https://10.0.0.1/up', 'http://sn.up.1drv.com/up', 'https://api.service.example/up', 'nowhere', 7])(
    'is not sent to a session at %s',
    async (uploadUrl) => {
      server.faultAt = ({ url }) => (url.pathname.endsWith('/createUploadSession') ? { status: 200, body: { uploadUrl } } : null)
      await expect(open().put('big.xml', await large(4_200_000))).rejects.toMatchObject({
        code: uploadUrl === 7 ? 'refused' : 'address_refused',
      })
      expect(
        server.requests.every(({ url }) => url.host !== new URL(URL.canParse(String(uploadUrl)) ? String(uploadUrl) : 'x:').host),
      ).toBe(true)
    },
  )
})

describe('the drive of the account', () => {
  const learnedBy = async (credentials = stored) => {
    const learned: object[] = []
    const drive = oneDrive(server.network, { config: server.config, credentials }, async (one) => void learned.push(one))
    return { drive, drives: () => learned.filter((one) => 'drive_id' in one) }
  }

  it('is told before the first file is stored in it, and asked for once, however many files come at once', async () => {
    Object.assign(server.config, { drive_id: null, folder_id: null })
    const { drive, drives } = await learnedBy()
    await Promise.all(['1', '2', '3', '4'].map(async (name) => drive.put(name, await objectOf(name))))
    expect(drives()).toEqual([{ drive_id: 'b!account-1' }])
    const graph = server.calls.filter((call) => call.includes('graph.microsoft.com'))
    expect(graph.filter((call) => call === 'GET graph.microsoft.com/v1.0/me/drive')).toHaveLength(1)
    expect(graph.slice(1).every((call) => call.startsWith('PUT graph.microsoft.com/v1.0/drives/b!account-1/root:/'))).toBe(true)
  })

  it('is asked for again after a failure, and is not used when it cannot be stored or is no name', async () => {
    Object.assign(server.config, { drive_id: null, folder_id: null })
    const { drive, drives } = await learnedBy()
    server.faultAt = ({ url }) => (url.pathname === '/v1.0/me/drive' ? { status: 503 } : null)
    await expect(drive.put('a', await objectOf('1'))).rejects.toMatchObject({ code: 'unavailable' })
    server.faultAt = ({ url }) => (url.pathname === '/v1.0/me/drive' ? { status: 200, body: { id: '..' } } : null)
    await expect(drive.put('a', await objectOf('1'))).rejects.toMatchObject({ code: 'refused' })
    server.faultAt = () => null
    const crash = new Error('The database is down.')
    const other = oneDrive(server.network, { config: server.config, credentials: stored }, async (one) => {
      if ('drive_id' in one) throw crash
    })
    await expect(other.put('a', await objectOf('1'))).rejects.toBe(crash)
    expect([server.tree, drives()]).toEqual([{}, []])
    await drive.put('a', await objectOf('1'))
    expect([server.tree, drives()]).toEqual([{ a: ['1'] }, [{ drive_id: 'b!account-1' }]])
  })
})

describe('the refresh token of Microsoft', () => {
  it('is replaced in the store before anything is done with the new one', async () => {
    const order: string[] = []
    server.faultAt = ({ url }) => {
      order.push(url.host)
      return null
    }
    const drive = oneDrive(server.network, { config: server.config, credentials: stored }, async (learned) => {
      const { refresh_token, ...others } = (learned as { credentials: Credentials }).credentials
      expect(others).toEqual({ client_id: server.credentials.client_id, client_secret: 'client-secret-2' })
      order.push(refresh_token)
    })
    await drive.put('a.xml', await objectOf('1'))
    expect(order).toEqual(['login.microsoftonline.com', 'M.refresh-token-1', 'graph.microsoft.com'])
  })

  it('is not lost by a crash before or after it is stored', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const crash = new Error('The process was killed.')
    for (const isStored of [false, true]) {
      const drive = oneDrive(server.network, { config: server.config, credentials: stored }, async (learned) => {
        if (isStored) stored = (learned as { credentials: Credentials }).credentials
        throw crash
      })
      // It is the store that failed, not the provider.
      await expect(drive.put('a.xml', await objectOf('1'))).rejects.toBe(crash)
      await open().put('a.xml', await objectOf('1'))
      expect(server.refreshTokens).toContain(stored.refresh_token)
      vi.advanceTimersByTime(3_600_000)
    }
    expect(server.tree).toEqual({ 'a.xml': ['1'] })
  })

  it('is used once for all invocations of an isolate until a minute before the end of the access token', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const drive = open()
    await Promise.all(['1', '2', '3', '4'].map(async (name) => drive.put(name, await objectOf(name))))
    vi.advanceTimersByTime((server.lifeSeconds - 61) * 1_000)
    await open().put('5', await objectOf('5'))
    expect(grants()).toBe(1)
    vi.advanceTimersByTime(2_000)
    await open().put('6', await objectOf('6'))
    expect([grants(), stored.refresh_token]).toEqual([2, 'M.refresh-token-2'])
  })

  it('of a public client goes without a secret', async () => {
    const { client_secret: _, ...open_ } = server.credentials
    Object.assign(server.credentials, { client_secret: undefined })
    await open(open_).put('a.xml', await objectOf('1'))
    expect(server.tree).toEqual({ 'a.xml': ['1'] })
  })

  it('that is no longer accepted, or a refused access token, is a denial of access', async () => {
    await expect(open({ ...stored, refresh_token: 'old' }).put('a.xml', await objectOf('1'))).rejects.toMatchObject({
      code: 'access_denied',
      message: expect.stringContaining('invalid_grant'),
    })
    await open().put('a.xml', await objectOf('1'))
    server.tokens.clear()
    await open().put('a.xml', await objectOf('2'))
    server.faultAt = ({ url }) => (url.host === 'graph.microsoft.com' ? { status: 401 } : null)
    const before = server.calls.length
    await expect(open().put('a.xml', await objectOf('3'))).rejects.toMatchObject({ code: 'access_denied' })
    expect(server.calls.slice(before)).toHaveLength(3)
  })
})

describe('an error of OneDrive', () => {
  it.each<[number, object, DestinationFault]>([
    [403, { code: 'accessDenied' }, 'access_denied'],
    [403, { code: 'accessDenied', innererror: { code: 'quotaLimitReached' } }, 'storage_full'],
    [404, { code: 'itemNotFound' }, 'not_found'],
    [409, { code: 'nameAlreadyExists' }, 'refused'],
    [423, { code: 'notAllowed', innererror: { code: 'resourceLocked' } }, 'unavailable'],
    [423, {}, 'unavailable'],
    [429, { code: 'activityLimitReached' }, 'rate_limited'],
    [503, { code: 'activityLimitReached' }, 'rate_limited'],
    [509, {}, 'rate_limited'],
    [507, { code: 'quotaLimitReached' }, 'storage_full'],
    [507, {}, 'storage_full'],
    [500, { code: 'generalException' }, 'unavailable'],
    [503, { code: 'serviceNotAvailable' }, 'unavailable'],
    [400, { code: 'invalidRequest' }, 'refused'],
  ])('%i %j is a fault, with the wait that it asks for', async (status, error, code) => {
    const body = { error: { message: 'Secret text.', ...error } }
    server.faultAt = ({ url }) => (url.host === 'graph.microsoft.com' ? { status, body, headers: { 'retry-after': '77' } } : null)
    for (const object of [await objectOf('1'), await large(4_200_000)]) {
      const thrown = await open()
        .put(PATH, object)
        .catch((caught) => caught)
      expect(thrown).toMatchObject({ code, retry_after_seconds: 77 })
      expect(thrown.message).not.toContain('Secret')
    }
    if (status !== 404) await expect(open().remove('a.xml')).rejects.toMatchObject({ code })
  })

  it('is raised when other bytes were stored than were sent', async () => {
    const right = { id: 'item-1', size: 5, file: { hashes: { quickXorHash: quickXorHash(utf8('right')).toBase64() } } }
    for (const body of [{ ...right, size: 4 }, { ...right, file: { hashes: { quickXorHash: 'AAAA' } } }, {}]) {
      server.faultAt = ({ method }) => (method === 'PUT' ? { status: 201, body } : null)
      await expect(open().put('a.xml', await objectOf('right'))).rejects.toMatchObject({ code: 'refused' })
    }
    // Some accounts tell no hash.
    for (const file of [right.file, { hashes: {} }, {}]) {
      server.faultAt = ({ method }) => (method === 'PUT' ? { status: 201, body: { ...right, file } } : null)
      await open().put('a.xml', await objectOf('right'))
    }
  })

  it('shows no credential and no text of the provider, whatever fails', async () => {
    const faults: Fault[] = [{ status: 400, body: { error: { code: 'client-secret-2' } } }, 'unreachable', 'lost', 'cut', 'garbage']
    for (const fault of faults)
      for (let step = 0; step < 3; step++) {
        const from = server.requests.length
        server.tokens.clear()
        server.faultAt = (request) => (request.step === from + step ? fault : null)
        const error = await open()
          .put(PATH, await objectOf('1'))
          .catch((thrown) => thrown)
        for (const secret of ['Secret', 'client-secret-2', 'M.refresh', ...server.tokens.keys()])
          expect(String(error?.stack ?? '')).not.toContain(secret)
      }
  })
})

describe('whatever fails at any step', () => {
  const FAULTS: Fault[] = [
    'unreachable',
    'lost',
    'cut',
    'garbage',
    { status: 403 },
    { status: 404 },
    { status: 429 },
    { status: 500 },
    { status: 401 },
  ]

  it('a repetition leaves exactly one file of each path, with the last bytes that were put', async () => {
    for (let seed = 1; seed <= runs(8, 400); seed++) {
      const random = randomOf(seed)
      const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
      server = new OneDriveStandIn()
      stored = server.credentials
      server.createsFolders = pick([true, false])
      const expected: Record<string, string[]> = {}
      let drive = open()
      for (let n = 0; n < 12; n++) {
        const path = pick(['a/1.xml', 'a/2.xml', 'a/b/1.xml', 'c/1.xml', '1.xml'])
        const isLarge = random() < 0.02
        const object = await objectOf(isLarge ? new Uint8Array(4_200_000).fill(65 + n) : `${seed}-${n}`)
        if (random() < 0.3) drive = open()
        if (random() < 0.2) server.tokens.clear()
        const at = server.requests.length + Math.floor(random() * 5)
        const fault = pick(FAULTS)
        server.faultAt = ({ step }) => (step === at ? fault : null)
        for (let tries = 0; ; tries++) {
          const isDone = await drive.put(path, object).then(
            () => true,
            () => false,
          )
          if (isDone) break
          expect(tries, `seed ${seed}`).toBeLessThan(3)
          if (random() < 0.5) drive = open()
        }
        expected[path] = [Buffer.from(object.bytes).toString()]
        server.faultAt = () => null
        expect(server.tree, `seed ${seed}, put ${n}`).toEqual(expected)
        expect(server.undocumented).toEqual([])
      }
    }
  })
})

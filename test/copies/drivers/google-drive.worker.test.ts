import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { googleDrive } from '../../../src/copies/drivers/google-drive.ts'
import type { DestinationFault } from '../../../src/copies/drivers/port.ts'
import { runs } from '../../support/fuzz.ts'
import { randomOf } from '../../support/random.ts'
import { FOLDER, GoogleDriveStandIn } from '../support/google-drive-stand-in.ts'
import { type Fault, utf8 } from '../support/scripted.ts'
import { objectOf } from '../support/wire.ts'

let server: GoogleDriveStandIn
beforeEach(() => {
  server = new GoogleDriveStandIn()
})
afterEach(() => {
  vi.useRealTimers()
  expect(server.undocumented).toEqual([])
})

/** The destination as a new invocation opens it. */
const open = (credentials: object = server.refreshing) =>
  googleDrive(server.network, { config: { folder_id: server.root }, credentials: credentials as never })
const PATH = 'XAXX010101000/2026/11/issued/A.xml'
const grants = (): number => server.calls.filter((call) => call.endsWith('/token')).length
const filesAt = async (path: string, content: string) => expect(server.tree).toEqual({ [path]: [content] })

describe('a path in Google Drive', () => {
  it('is a file below folders of its parts, and is replaced, read and removed', async () => {
    const drive = open()
    await drive.put(PATH, await objectOf('<one/>'))
    expect(server.tree).toEqual({ [PATH]: ['<one/>'] })
    expect([...server.files.values()].find(({ name }) => name === 'A.xml')).toMatchObject({ mimeType: 'application/xml' })
    await drive.put(PATH, await objectOf('<two/>'))
    expect(server.tree).toEqual({ [PATH]: ['<two/>'] })
    expect(await drive.read(PATH)).toEqual(utf8('<two/>'))
    await drive.remove(PATH)
    await drive.remove(PATH)
    await drive.remove('no/such/folder/file.xml')
    expect([server.tree, await drive.read(PATH)]).toEqual([{}, null])
    await drive.put(PATH, await objectOf('<three/>'))
    await filesAt(PATH, '<three/>')
  })

  it('costs one request a document, once the folder is known', async () => {
    const drive = open()
    await drive.put('a/b/0.xml', await objectOf('0'))
    const before = server.requests.length
    for (let n = 1; n <= 20; n++) await drive.put(`a/b/${n}.xml`, await objectOf(String(n)))
    expect(server.calls.slice(before)).toEqual(Array(20).fill('POST www.googleapis.com/upload/drive/v3/files'))
    // Another invocation reads the folders once.
    const again = open()
    const read = server.requests.length
    await again.put('a/b/0.xml', await objectOf('zero'))
    expect(server.calls.slice(read).map((call) => call.split(' ')[0])).toEqual(['GET', 'GET', 'GET', 'GET', 'PATCH'])
  })

  it('is found in a folder of more files than a page shows, with one request more', async () => {
    await open().put('a/0.xml', await objectOf('0'))
    for (let n = 1; n < 6; n++) await open().put(`a/${n}.xml`, await objectOf(String(n)))
    server.largestPage = 3
    for (const name of ['5.xml', '6.xml', '5.XML']) await open().put(`a/${name}`, await objectOf(`new ${name}`))
    server.largestPage = 1_000
    expect(server.tree['a/5.xml']).toEqual(['new 5.xml'])
    expect([server.tree['a/6.xml'], server.tree['a/5.XML']]).toEqual([['new 6.xml'], ['new 5.XML']])
    expect(Object.values(server.tree).flat()).toHaveLength(8)
  })

  it('may have any character that Drive allows in a name', async () => {
    const paths = ["L'été \\ 100%/Ñandú & Cía #1?.xml", 'a+b=c/{uuid} "q".xml', `${'x'.repeat(200)}/${'y'.repeat(190)}.xml`]
    for (const path of paths) {
      await open().put(path, await objectOf(path))
      await open().put(path, await objectOf(`${path}!`))
      server.largestPage = 1
    }
    expect(server.tree).toEqual(Object.fromEntries(paths.map((path) => [path, [`${path}!`]])))
  })

  it('is one file when it is put several times at once', async () => {
    const drive = open()
    await Promise.all(Array.from({ length: 8 }, async (_, n) => drive.put(`a/b/${n % 2}.xml`, await objectOf(String(n)))))
    expect(server.tree).toEqual({ 'a/b/0.xml': ['6'], 'a/b/1.xml': ['7'] })
  })

  it('is in the older of two folders of a name, and the older of two files, of which our younger one goes', async () => {
    const [older, younger] = ['older', 'younger'].map((id) => server.add({ id, name: 'a', mimeType: FOLDER }))
    const drive = open()
    await drive.put('a/1.xml', await objectOf('mine'))
    const [first] = [...server.files.values()].filter(({ name }) => name === '1.xml')
    expect(first!.parents).toEqual([older])
    // Another process that did not see the first file created a second one; a person put a third one there.
    server.add({ id: 'second', name: '1.xml', parents: [older!], appProperties: first!.appProperties, bytes: utf8('twice') })
    server.add({ id: 'third', name: '1.xml', parents: [older!], bytes: utf8('of a person') })
    server.add({ id: 'other', name: '1.xml', parents: [younger!], bytes: utf8('elsewhere') })
    await open().put('a/1.xml', await objectOf('again'))
    expect(server.files.get(first!.id)).toMatchObject({ trashed: false, bytes: utf8('again') })
    expect(['second', 'third', 'other'].map((id) => server.files.get(id)!.trashed)).toEqual([true, false, false])
  })

  it('is one folder when two processes create it at once: the younger one is removed by who made it', async () => {
    // The other process is faster between the look and the creation.
    server.faultAt = ({ method, url }) => {
      const isCreation = method === 'POST' && url.pathname === '/drive/v3/files'
      if (isCreation && !server.files.has('theirs')) server.add({ id: 'theirs', name: 'a', mimeType: FOLDER })
      return null
    }
    await open().put('a/1.xml', await objectOf('1'))
    const folders = [...server.files.values()].filter(({ name, trashed }) => name === 'a' && !trashed)
    expect(folders.map(({ id }) => id)).toEqual(['theirs'])
    expect(server.tree).toEqual({ 'a/1.xml': ['1'] })
  })

  it('is one file after a lost answer, also while lists do not show it yet', async () => {
    const drive = open()
    await drive.put('a/0.xml', await objectOf('0'))
    server.listingLag = 50
    server.faultAt = ({ url }) => (url.searchParams.get('uploadType') === 'multipart' ? 'lost' : null)
    await expect(drive.put('a/1.xml', await objectOf('1'))).rejects.toMatchObject({ code: 'connection_failed' })
    server.faultAt = () => null
    await drive.put('a/1.xml', await objectOf('1'))
    expect(server.tree).toEqual({ 'a/0.xml': ['0'], 'a/1.xml': ['1'] })
    expect([...server.files.values()].filter(({ name }) => name === '1.xml')).toHaveLength(1)
  })

  it('is one folder after a lost answer, also while lists do not show it yet', async () => {
    const drive = open()
    await drive.read('a/1.xml')
    server.listingLag = 50
    server.faultAt = ({ method, url }) => (method === 'POST' && url.pathname === '/drive/v3/files' ? 'lost' : null)
    await expect(drive.put('a/1.xml', await objectOf('1'))).rejects.toMatchObject({ code: 'connection_failed' })
    server.faultAt = () => null
    await drive.put('a/1.xml', await objectOf('1'))
    expect([...server.files.values()].filter(({ name }) => name === 'a')).toHaveLength(1)
    expect(server.tree).toEqual({ 'a/1.xml': ['1'] })
  })

  it('is not a document, shortcut or form of Google that has its name', async () => {
    server.add({ name: '1.xml', mimeType: 'application/vnd.google-apps.document' })
    await open().put('1.xml', await objectOf('1'))
    expect(await open().read('1.xml')).toEqual(utf8('1'))
  })

  it('is found again when its folder was deleted meanwhile', async () => {
    const drive = open()
    await drive.put('a/1.xml', await objectOf('1'))
    for (const [id, { name }] of server.files) if (name === 'a' || name === '1.xml') server.files.delete(id)
    await drive.put('a/1.xml', await objectOf('new'))
    await drive.put('a/2.xml', await objectOf('2'))
    expect(server.tree).toEqual({ 'a/1.xml': ['new'], 'a/2.xml': ['2'] })
  })
})

describe('a shared drive', () => {
  it('is searched as the corpus of its folder', async () => {
    server.driveId = '0AShared'
    await open().put(PATH, await objectOf('1'))
    await open().put(PATH, await objectOf('2'))
    await filesAt(PATH, '2')
  })

  it('may be closed to the account, which then has the folder alone', async () => {
    Object.assign(server, { driveId: '0AShared', isMember: false })
    await open().put(PATH, await objectOf('1'))
    await open().put(PATH, await objectOf('2'))
    await filesAt(PATH, '2')
  })
})

describe('a large object', () => {
  const LARGE = new Uint8Array(8 * 1_048_576).map((_, n) => (n * 7) % 251)
  const large = () => objectOf(LARGE)

  it('goes through an upload session, as a new file and as a new content', async () => {
    const object = await large()
    const drive = open()
    await drive.put('a/big.xml', object)
    await drive.put('a/big.xml', object)
    expect(Buffer.compare((await drive.read('a/big.xml'))!, object.bytes)).toBe(0)
    expect(
      server.requests.filter(({ url }) => url.searchParams.get('uploadType') === 'resumable' && url.searchParams.has('upload_id')),
    ).toHaveLength(2)
  })

  it.each([
    ['the connection breaks', 'unreachable' as Fault, 3_000_000],
    ['the provider fails', { status: 503 } as Fault, 0],
    ['the answer is lost', 'lost' as Fault, null],
  ])('goes on where it stopped when %s', async (_, fault, arrived) => {
    const object = await large()
    let broken = 0
    server.faultAt = (request) => {
      if (!request.url.searchParams.has('upload_id') || request.body.length === 0 || broken++ > 0) return null
      if (arrived !== null) server.receivePart(request, arrived)
      return fault
    }
    await open().put('a/big.xml', object)
    const sent = server.requests
      .filter(({ url, body }) => url.searchParams.has('upload_id') && body.length > 0)
      .map(({ body }) => body.length)
    expect(sent).toEqual(arrived === null ? [object.bytes.length] : [object.bytes.length, object.bytes.length - arrived])
    expect(Buffer.compare((await open().read('a/big.xml'))!, object.bytes)).toBe(0)
  })

  it('waits when the provider asks for it, instead of sending the rest', async () => {
    const answer = { status: 503, headers: { 'retry-after': '9' } }
    server.faultAt = ({ url, body }) => (url.searchParams.has('upload_id') && body.length > 0 ? answer : null)
    await expect(open().put('a/big.xml', await large())).rejects.toMatchObject({ code: 'unavailable', retry_after_seconds: 9 })
    expect(server.requests.filter(({ url }) => url.searchParams.has('upload_id'))).toHaveLength(1)
  })

  it('ends as a fault when the connection breaks three times', async () => {
    server.faultAt = ({ url, body }) => (url.searchParams.has('upload_id') && body.length > 0 ? 'unreachable' : null)
    await expect(open().put('a/big.xml', await large())).rejects.toMatchObject({ code: 'connection_failed' })
    server.faultAt = () => null
    await open().put('a/big.xml', await large())
    expect(Object.values(server.tree).map((contents) => contents.length)).toEqual([1])
  })

  it.each(['https://evil.example/upload', 'https://www.googleapis.com.evil.example/', 'http://www.googleapis.com/x', 'https://10.0.0.1/'])(
    'is not sent to a session at %s',
    async (location) => {
      server.faultAt = ({ url }) => (url.searchParams.get('uploadType') === 'resumable' ? { status: 200, headers: { location } } : null)
      await expect(open().put('a/big.xml', await large())).rejects.toMatchObject({ code: 'refused' })
      expect(server.requests.every(({ url }) => url.host.endsWith('googleapis.com') && url.protocol === 'https:')).toBe(true)
    },
  )
})

describe('an access token of Google', () => {
  it('is asked for with the key of a service account', async () => {
    await server.makeKey()
    await open({ service_account: server.account }).put('a.xml', await objectOf('1'))
    await filesAt('a.xml', '1')
    const stolen = { ...server.account, client_email: 'other@customer.iam.gserviceaccount.com' }
    await expect(open({ service_account: stolen }).put('a.xml', await objectOf('1'))).rejects.toMatchObject({
      code: 'access_denied',
      message: expect.stringContaining('invalid_grant'),
    })
    for (const private_key of ['none', '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----'])
      await expect(open({ service_account: { ...server.account, private_key } }).put('a.xml', await objectOf('1'))).rejects.toMatchObject({
        code: 'access_denied',
      })
  })

  it('serves all invocations of the isolate until a minute before its end', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    await open().put('1', await objectOf('1'))
    const first = grants()
    expect(first).toBe(1)
    await open().put('4', await objectOf('4'))
    expect(grants()).toBe(first)
    vi.advanceTimersByTime((server.lifeSeconds - 61) * 1_000)
    await open().put('5', await objectOf('5'))
    expect(grants()).toBe(first)
    vi.advanceTimersByTime(2_000)
    await open().put('6', await objectOf('6'))
    expect(grants()).toBe(first + 1)
  })

  it('is asked for once by operations that begin together', async () => {
    const drive = open()
    await Promise.all(['1', '2', '3', '4'].map(async (name) => drive.put(name, await objectOf(name))))
    expect(grants()).toBe(1)
  })

  it('is replaced once when it is refused, and then access is denied', async () => {
    await open().put('1', await objectOf('1'))
    server.tokens.clear()
    const before = grants()
    await open().put('2', await objectOf('2'))
    expect(grants()).toBe(before + 1)
    server.faultAt = ({ url }) => (url.host === 'www.googleapis.com' ? { status: 401 } : null)
    const asked = server.requests.length
    await expect(open().put('3', await objectOf('3'))).rejects.toMatchObject({ code: 'access_denied' })
    expect(server.calls.slice(asked).filter((call) => !call.endsWith('/token'))).toHaveLength(2)
  })

  it.each<[number, unknown, DestinationFault]>([
    [400, { error: 'invalid_grant' }, 'access_denied'],
    [401, { error: 'invalid_client' }, 'access_denied'],
    [429, {}, 'rate_limited'],
    [500, { error: 'server_error' }, 'unavailable'],
    [503, 'down', 'unavailable'],
    [200, { access_token: '', expires_in: 3_600 }, 'refused'],
    [200, { access_token: 'a\nb', expires_in: 3_600 }, 'refused'],
    [200, { access_token: 'ab' }, 'refused'],
  ])('that is answered with %i %j ends as a fault', async (status, body, code) => {
    server.faultAt = ({ url }) => (url.pathname === '/token' ? { status, body } : null)
    await expect(open().put('1', await objectOf('1'))).rejects.toMatchObject({
      code,
    })
  })
})

describe('an error of Google Drive', () => {
  it.each<[number, string, DestinationFault]>([
    [403, 'rateLimitExceeded', 'rate_limited'],
    [403, 'userRateLimitExceeded', 'rate_limited'],
    [403, 'storageQuotaExceeded', 'storage_full'],
    [403, 'teamDriveFileLimitExceeded', 'storage_full'],
    [403, 'insufficientFilePermissions', 'access_denied'],
    [403, 'appNotAuthorizedToFile', 'access_denied'],
    [403, 'somethingNew', 'access_denied'],
    [404, 'notFound', 'not_found'],
    [429, 'rateLimitExceeded', 'rate_limited'],
    [500, 'backendError', 'unavailable'],
    [502, '', 'unavailable'],
    [400, 'badRequest', 'refused'],
  ])('%i %s is a fault at every step, with the wait that it asks for', async (status, reason, code) => {
    for (const step of ['GET', 'POST']) {
      const body = { error: { code: status, message: 'Secret text.', errors: [{ reason }] } }
      server.faultAt = ({ method, url }) =>
        method === step && url.pathname !== '/token' ? { status, body, headers: { 'retry-after': '77' } } : null
      const error = await open()
        .put(PATH, await objectOf('1'))
        .catch((thrown) => thrown)
      expect(error).toMatchObject({ code, retry_after_seconds: 77 })
      expect(error.message).toContain(reason)
      expect(error.message).not.toContain('Secret')
    }
  })

  it('says what a service account without storage needs', async () => {
    server.faultAt = ({ method, url }) =>
      method === 'POST' && url.pathname !== '/token'
        ? { status: 403, body: { error: { errors: [{ reason: 'storageQuotaExceeded' }] } } }
        : null
    await open().read('1')
    await expect(open().put('1', await objectOf('1'))).rejects.toThrow('give it a folder of a shared drive')
  })

  it('tells of a folder_id that names no folder, or one in the trash', async () => {
    for (const change of [{ mimeType: 'application/pdf' }, { mimeType: FOLDER, trashed: true }]) {
      Object.assign(server.files.get(server.root)!, change)
      await expect(open().put('1', await objectOf('1'))).rejects.toMatchObject({ code: 'not_found' })
    }
    server.files.delete(server.root)
    await expect(open().read('1')).rejects.toMatchObject({ code: 'not_found' })
  })

  it('is raised when other bytes were stored than were sent', async () => {
    const object = await objectOf('right')
    await expect(open().put('1', { ...object, sha256: 'f'.repeat(64) })).rejects.toMatchObject({ code: 'refused' })
    await open().put('1', object)
    await filesAt('1', 'right')
  })

  it('is raised after fifteen seconds when an answer does not come', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    for (const step of [0, 1, 4]) {
      const from = server.requests.length
      server.faultAt = (request) => (request.step === from + step ? 'hang' : null)
      const put = open()
        .put(`a/${step}.xml`, await objectOf('1'))
        .catch((thrown) => thrown)
      await vi.waitFor(() => expect(server.requests).toHaveLength(from + step + 1))
      await vi.advanceTimersByTimeAsync(15_000)
      expect(await put).toMatchObject({ code: 'timeout' })
    }
  })

  it('shows no credential and no text of the provider, whatever fails', async () => {
    await server.makeKey()
    const secrets = [...Object.values(server.refreshing), server.account.private_key, 'Secret', 'evil', ...server.tokens.keys()]
    const faults: Fault[] = [
      { status: 400, body: { error: 'client-secret-1' } },
      { status: 403, body: { error: { errors: [{ reason: 'refresh' }] } } },
    ]
    for (const fault of [...faults, 'unreachable', 'lost', 'cut', 'garbage'] as Fault[])
      for (let step = 0; step < 8; step++) {
        const from = server.requests.length
        server.faultAt = (request) => (request.step === from + step ? fault : null)
        const error = await open()
          .put(`a/${step}.xml`, await objectOf('1'))
          .catch((thrown) => thrown)
        for (const secret of [...secrets, ...server.tokens.keys()]) expect(String(error?.stack ?? '')).not.toContain(secret)
      }
  })
})

describe('whatever fails at any step', () => {
  const FAULTS: Fault[] = ['unreachable', 'lost', 'cut', 'garbage', { status: 403 }, { status: 429 }, { status: 500 }, { status: 401 }]

  it(`a repetition leaves exactly one file of each path, with the last bytes that were put`, async () => {
    for (let seed = 1; seed <= runs(8, 400); seed++) {
      const random = randomOf(seed)
      const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
      server = new GoogleDriveStandIn()
      server.largestPage = pick([1, 2, 1_000])
      const expected: Record<string, string[]> = {}
      let drive = open()
      for (let n = 0; n < 12; n++) {
        const path = pick(['a/1.xml', 'a/2.xml', 'a/b/1.xml', 'c/1.xml', '1.xml'])
        const object = await objectOf(`${seed}-${n}`)
        if (random() < 0.3) drive = open()
        const at = server.requests.length + Math.floor(random() * 7)
        const fault = pick(FAULTS)
        server.faultAt = ({ step }) => (step === at ? fault : null)
        // A process that was killed, or one that repeats.
        for (let tries = 0; ; tries++) {
          const isDone = await drive.put(path, object).then(
            () => true,
            () => false,
          )
          if (isDone) break
          expect(tries, `seed ${seed}`).toBeLessThan(3)
          if (random() < 0.5) drive = open()
        }
        expected[path] = [`${seed}-${n}`]
        server.faultAt = () => null
        expect(server.tree, `seed ${seed}, put ${n}`).toEqual(expected)
        expect(server.undocumented).toEqual([])
      }
    }
  })
})

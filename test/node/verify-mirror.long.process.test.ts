import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { verifyCopy } from '../../scripts/mirror/verification.ts'
import { ROOT } from '../../scripts/wrangler.ts'
import { FOLDER, GoogleDriveStandIn } from '../copies/support/google-drive-stand-in.ts'
import { Providers } from './support/providers.ts'
import { freePort } from './support/runner.ts'

const folder = mkdtempSync(join(tmpdir(), 'fiscal-mirror-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const write = (path: string, text: string): void => {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), text)
}
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
const line = (path: string, text: string): string =>
  JSON.stringify({ sha256: sha256(text), uuid: path, path, rfc: 'AAA010101AAA', size: text.length })

const runAt = (sink: string, ...given: string[]): Promise<{ code: number; said: string }> =>
  new Promise((done) => {
    const env = { ...process.env, STORAGE_SINK: sink }
    execFile(process.execPath, [join(ROOT, 'scripts/verify-mirror.ts'), ...given], { env }, (error, stdout, stderr) =>
      done({ code: error ? Number(error.code) : 0, said: stdout + stderr }),
    )
  })
const run = (...given: string[]) => runAt('', ...given)

/** Manifests of a connector, as the service writes them: each names the one before it. Returns the last one, as the connector shows it. */
function manifests(to: (path: string, text: string) => void, days: [at: string, lines: string[]][], connector = 'stc_1') {
  let previous: { path: string; sha256: string } | null = null
  for (const [at, lines] of days) {
    const path = `manifests/${connector}/${at}.jsonl`
    const text = [...lines, JSON.stringify({ lines: lines.length, previous }), ''].join('\n')
    to(path, text)
    previous = { path, sha256: sha256(text) }
  }
  to(`manifests/${connector}/latest.json`, `${JSON.stringify(previous)}\n`)
  return previous!
}

/** A new folder with four manifests on two days, and what they list. */
function fourManifests() {
  const at = mkdtempSync(join(folder, 'four-'))
  const put = (path: string, text: string) => {
    mkdirSync(dirname(join(at, path)), { recursive: true })
    writeFileSync(join(at, path), text)
  }
  const last = manifests(put, [
    ['2026-05-20/manifest', [line('1.xml', 'one')]],
    ['2026-05-20/manifest-2', [line('2.xml', 'two')]],
    ['2026-05-20/manifest-3', [line('3.xml', 'three')]],
    ['2026-05-21/manifest', [line('4.xml', 'four')]],
  ])
  for (const [n, text] of ['one', 'two', 'three', 'four'].entries()) put(`${n + 1}.xml`, text)
  return { at, put, last, remove: (path: string) => rmSync(join(at, path)) }
}

describe('npm run verify-mirror', () => {
  it('finds what is missing or different in a copy, by the last manifest that lists it', async () => {
    write('a/1.xml', 'one')
    write('a/2.xml', 'two, again')
    const first: [string, string[]][] = [
      ['2026-05-20/manifest', [line('a/1.xml', 'one'), line('a/2.xml', 'two')]],
      ['2026-05-20/manifest-2', [line('a/2.xml', 'two, again')]],
    ]
    manifests(write, first)
    expect(await run(folder)).toMatchObject({ code: 0, said: expect.stringContaining('2 manifests list 2 objects: 0 are missing') })
    manifests(write, [
      ...first,
      ['2026-05-21/manifest', [line('a/3.xml', 'three'), line('a/1.xml', 'another'), 'nothing', line('../x', 'x')]],
    ])
    const { code, said } = await run(folder)
    expect(code).toBe(1)
    expect(
      said
        .split('\n')
        .filter((text) => /^(missing|different|unreadable) /.test(text))
        .sort(),
    ).toEqual(['different  a/1.xml', 'missing    ../x', 'missing    a/3.xml', 'unreadable manifests/stc_1/2026-05-21/manifest.jsonl:3'])
    expect((await run(folder, '--until', '2026-05-20')).code).toBe(0)
  })

  it('reads the manifests of every connector that has the place', async () => {
    const two = mkdtempSync(join(folder, 'two-'))
    const put = (path: string, text: string) => {
      mkdirSync(dirname(join(two, path)), { recursive: true })
      writeFileSync(join(two, path), text)
    }
    manifests(put, [['2026-05-20/manifest', [line('x', 'x')]]])
    manifests(
      put,
      [
        ['2026-05-20/manifest', [line('y', 'y')]],
        ['2026-05-21/manifest', [line('z', 'z')]],
      ],
      'stc_2',
    )
    put('x', 'x')
    expect(await run(two)).toMatchObject({ code: 1, said: expect.stringMatching(/missing {4}y\nmissing {4}z\n3 manifests list 3 objects/) })
  })

  it.each([
    ['2026-05-20/manifest.jsonl', 3],
    ['2026-05-20/manifest-2.jsonl', 3],
    ['2026-05-20/manifest-3.jsonl', 3],
    ['2026-05-21/manifest.jsonl', 3],
  ])('notices that %s is not in a folder, and checks the others', async (gone, rest) => {
    const { at, remove } = fourManifests()
    expect(await run(at)).toEqual({ code: 0, said: '4 manifests list 4 objects: 0 are missing, and 0 are different.\n' })
    remove(`manifests/stc_1/${gone}`)
    remove('4.xml')
    const { code, said } = await run(at)
    expect([code, said]).toEqual([1, expect.stringContaining(`missing    manifests/stc_1/${gone}\n`)])
    expect(said).toContain(`${rest} manifests list ${rest} objects`)
    if (!gone.includes('-21')) expect(said).toContain('missing    4.xml')
    // What comes before the days that are chosen is not asked for.
    expect((await run(at, '--since', '2026-05-21', '--until', '2026-05-21')).code).toBe(1)
  })

  it('notices a manifest that is cut, that was replaced, or whose last one is not named', async () => {
    const cut = fourManifests()
    cut.put('manifests/stc_1/2026-05-20/manifest-2.jsonl', `${line('2.xml', 'two')}\n`)
    expect(await run(cut.at)).toMatchObject({
      code: 1,
      said: expect.stringMatching(
        /different {2}manifests\/stc_1\/2026-05-20\/manifest-2\.jsonl\n.*manifest-2\.jsonl: its end is missing\./,
      ),
    })
    const shorter = fourManifests()
    shorter.put('manifests/stc_1/2026-05-20/manifest.jsonl', '{"lines":1,"previous":null}\n')
    expect(await run(shorter.at)).toMatchObject({ code: 1, said: expect.stringContaining('manifest.jsonl: it has 0 lines and not 1.') })
    const unnamed = fourManifests()
    unnamed.remove('manifests/stc_1/latest.json')
    expect(await run(unnamed.at)).toMatchObject({ code: 1, said: expect.stringContaining('missing    manifests/stc_1/latest.json\n') })
  })

  it('explains itself, and says in a sentence with 2 what it cannot check', async () => {
    expect(await run()).toMatchObject({ code: 2, said: expect.stringContaining('--connector file.json') })
    expect(await run(folder, folder)).toMatchObject({ code: 2, said: expect.stringContaining('--connector file.json') })
    const none = join(folder, 'none')
    const SENTENCE = /^[^\n]+[.?]\n$/
    for (const [given, said] of [
      [['--connector', 'file.json'], 'The file file.json cannot be read.'],
      [[join(folder, 'a')], `There is no manifest in ${join(folder, 'a')}`],
      [[none], `There is no folder ${none}.`],
      [[folder, '--sinse', '2026-05-20'], "Unknown option '--sinse'. --help shows how to use the command."],
      [[folder, '--since'], '--help shows how to use the command.'],
      [[folder, '--since', '2026-5-1'], '“2026-5-1” must be a day such as 2026-01-31.'],
      [[folder, '--since', '2030-01-01', '--until', '2030-01-31'], 'There is no manifest of these days.'],
    ] as const) {
      const found = await run(...given)
      expect([given, found.code, found.said]).toEqual([given, 2, expect.stringContaining(said)])
      expect(found.said).toMatch(SENTENCE)
    }
  })

  it('asks a destination for the manifests that the last one leads to, and for none before the first day', async () => {
    const objects = new Map<string, string>([['x.xml', 'x']])
    const last = manifests(
      (path, text) => objects.set(path, text),
      [
        ['2026-02-27/manifest', [line('w.xml', 'w')]],
        ['2026-02-28/manifest', [line('x.xml', 'x')]],
        ['2026-02-28/manifest-3', [line('y.xml', 'y')]],
        ['2026-03-01/manifest', [line('z.xml', 'z')]],
      ],
    )
    const read: string[] = []
    const copy = {
      read: async (path: string) => {
        read.push(path)
        const text = objects.get(path)
        return text === undefined ? null : new TextEncoder().encode(text)
      },
    }
    const found = await verifyCopy(copy, [last], { since: '2026-02-28', until: '2026-02-28' })
    expect(found).toEqual({ manifests: 2, listed: 2, missing: ['y.xml'], different: [], unreadable: [] })
    expect(read.slice(0, 3)).toEqual([
      'manifests/stc_1/2026-03-01/manifest.jsonl',
      'manifests/stc_1/2026-02-28/manifest-3.jsonl',
      'manifests/stc_1/2026-02-28/manifest.jsonl',
    ])
    expect(read).toHaveLength(5)
  })
})

describe('npm run verify-mirror -- --connector, at an S3 that answers 403 for what is missing, because the key may not list the bucket', () => {
  const objects = new Map<string, string>()
  let isDenied = false
  const server = createServer(({ url }, answer) => {
    const text = isDenied ? undefined : objects.get(decodeURIComponent(url!).replace('/copia/', ''))
    if (text === undefined) return answer.writeHead(403).end('<Error><Code>AccessDenied</Code></Error>')
    answer.setHeader('etag', '"1"').end(text)
  })
  const connector_id = 'stc_01kabcdefghjkmnpqrstvwxyz0'
  const file = join(folder, 's3.json')
  const check = (more: object = {}) => {
    const config = { bucket: 'acme-cfdi', prefix: 'copia' }
    const credentials = { access_key_id: 'AKIDEXAMPLE', secret_access_key: 's3cret' }
    writeFileSync(file, JSON.stringify({ connector_id, provider: 's3', config, credentials, ...more }))
    return runAt(`http://127.0.0.1:${(server.address() as { port: number }).port}`, '--connector', file)
  }
  const fill = () => {
    objects.clear()
    isDenied = false
    for (const [n, text] of ['one', 'two', 'three', 'four'].entries()) objects.set(`${n + 1}.xml`, text)
    return manifests(
      (path, text) => objects.set(path, text),
      ['manifest', 'manifest-2', 'manifest-3', 'manifest-4'].map((name, n) => [
        `2026-05-20/${name}`,
        [line(`${n + 1}.xml`, ['one', 'two', 'three', 'four'][n]!)],
      ]),
      connector_id,
    )
  }
  const at = (name: string) => `manifests/${connector_id}/2026-05-20/${name}.jsonl`

  beforeAll(() => new Promise<void>((done) => server.listen(0, '127.0.0.1', done)))
  afterAll(() => void server.close())

  it('finds a whole copy whole, with no other permission than to read', async () => {
    fill()
    expect(await check()).toEqual({ code: 0, said: '4 manifests list 4 objects: 0 are missing, and 0 are different.\n' })
  })

  it('notices a manifest or an object that is missing', async () => {
    for (const gone of [at('manifest-2'), at('manifest-4'), '1.xml', '3.xml']) {
      fill()
      objects.delete(gone)
      const { code, said } = await check()
      expect([gone, code, said]).toEqual([gone, 1, expect.stringContaining(`missing    ${gone}\n`)])
      expect(said).toContain('Without s3:ListBucket, S3 answers so for what is missing.')
    }
  })

  it('begins where the record of the connector says, if the destination does not say it or says an old one', async () => {
    const last_manifest = fill()
    objects.delete('4.xml')
    objects.set(
      `manifests/${connector_id}/latest.json`,
      JSON.stringify({ path: at('manifest'), sha256: sha256(objects.get(at('manifest'))!) }),
    )
    expect((await check()).code).toBe(0)
    expect(await check({ last_manifest })).toMatchObject({ code: 1, said: expect.stringContaining('missing    4.xml\n') })
    objects.delete(`manifests/${connector_id}/latest.json`)
    expect(await check({ last_manifest })).toMatchObject({ code: 1, said: expect.stringContaining('4 manifests list 4 objects: 1 are') })
  })

  it('says with 2 that nothing may be read', async () => {
    const last_manifest = fill()
    isDenied = true
    for (const more of [{}, { last_manifest }])
      expect(await check(more)).toEqual({
        code: 2,
        said: expect.stringMatching(/^The copy could not be checked \(access_denied\)\. .+\.\n$/),
      })
  })
})

describe('npm run verify-mirror -- --connector, with STORAGE_SINK', () => {
  const providers = new Providers()
  const drive = new GoogleDriveStandIn()
  const { provider, config, credentials } = drive.spec('right')
  const connector_id = 'stc_01kabcdefghjkmnpqrstvwxyz0'
  const file = join(folder, 'connector.json')
  const check = (given: unknown, sink = providers.sink) => {
    writeFileSync(file, typeof given === 'string' ? given : JSON.stringify(given))
    return runAt(sink, '--connector', file, '--since', '2026-05-20', '--until', '2026-05-20')
  }
  const add = (parent: string, name: string, text: string | null): string =>
    drive.add({ name, parents: [parent], ...(text === null ? { mimeType: FOLDER } : { bytes: new TextEncoder().encode(text) }) })

  beforeAll(async () => {
    providers.standIns.push(drive)
    await providers.listen()
    const prefix = add(drive.root, 'fiscal', null)
    add(prefix, '1.xml', 'one')
    const of = add(add(prefix, 'manifests', null), connector_id, null)
    const day = add(of, '2026-05-20', null)
    manifests(
      (path, text) => add(path.endsWith('.json') ? of : day, path.split('/').at(-1)!, text),
      [
        ['2026-05-20/manifest', [line('1.xml', 'one')]],
        ['2026-05-20/manifest-2', [line('2.xml', 'two')]],
      ],
      connector_id,
    )
  })
  afterAll(() => providers.stop())

  it('checks the destination that the sink plays, below the prefix of the connector', async () => {
    const spec = { connector_id, provider, config: { ...config, prefix: 'fiscal' }, credentials }
    expect(await check(spec)).toEqual({
      code: 1,
      said: 'missing    2.xml\n2 manifests list 2 objects: 1 are missing, and 0 are different.\n',
    })
    add([...drive.files.values()].find(({ name }) => name === 'fiscal')!.id, '2.xml', 'two')
    expect(await check(spec)).toEqual({ code: 0, said: '2 manifests list 2 objects: 0 are missing, and 0 are different.\n' })
    expect(drive.undocumented).toEqual([])
  })

  it('says in a sentence why a destination cannot be read, and exits with 2', async () => {
    const wrong = { connector_id, provider, config, credentials: { ...credentials, client_secret: 'another' } }
    const { code, said } = await check(wrong)
    expect([code, said]).toEqual([
      2,
      expect.stringMatching(/^The copy could not be checked \(access_denied\)\. The provider refuses .+\.\n$/),
    ])
    const nowhere = await check(wrong, `http://127.0.0.1:${await freePort()}`)
    expect([nowhere.code, nowhere.said]).toEqual([
      2,
      expect.stringMatching(/^The copy could not be checked \(connection_failed\)\. .+\.\n$/),
    ])
  })

  it('says what is wrong with the file or the sink, without a word of the credentials', async () => {
    for (const [given, said] of [
      ['{"secret": "s3cret"', `The file ${file} is not JSON.\n`],
      [[], `In ${file}, provider must be one of s3, azure_blob, google_drive, onedrive.\n`],
      [{ provider, config: {}, credentials }, expect.stringMatching(/^In \S+, config\.folder_id is not valid: .+\.\n$/)],
      [{ provider, config, credentials }, expect.stringMatching(/^In \S+, connector_id must be .+\.\n$/)],
      [{ provider, config, credentials: { client_id: 's3cret' } }, expect.stringMatching(/^In \S+, credentials is not valid: .+\.\n$/)],
    ] as const) {
      const found = await check(given)
      expect([found.code, found.said]).toEqual([2, said])
      expect(found.said).not.toContain('s3cret')
    }
    expect(await check({ connector_id, provider, config, credentials }, 'https://storage.example.com')).toEqual({
      code: 2,
      said: 'STORAGE_SINK must be http://127.0.0.1:{port} (or localhost, or [::1]) without a path, not “https://storage.example.com”.\n',
    })
    expect(await runAt('', '--connector', join(folder, 'none.json'), '--since', '2026-05-20')).toEqual({
      code: 2,
      said: `The file ${join(folder, 'none.json')} cannot be read.\n`,
    })
  })
})

import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { daysBetween, verifyCopy } from '../../scripts/mirror/verification.ts'
import { ROOT } from '../../scripts/wrangler.ts'
import { FOLDER, GoogleDriveStandIn } from '../storage/support/google-drive-stand-in.ts'
import { Providers } from './support/providers.ts'
import { freePort } from './support/runner.ts'

const folder = mkdtempSync(join(tmpdir(), 'fiscal-mirror-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const write = (path: string, text: string): void => {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), text)
}
const line = (path: string, text: string): string =>
  JSON.stringify({ sha256: createHash('sha256').update(text).digest('hex'), uuid: path, path, rfc: 'AAA010101AAA', size: text.length })

const runAt = (sink: string, ...given: string[]): Promise<{ code: number; said: string }> =>
  new Promise((done) => {
    const env = { ...process.env, STORAGE_SINK: sink }
    execFile(process.execPath, [join(ROOT, 'scripts/verify-mirror.ts'), ...given], { env }, (error, stdout, stderr) =>
      done({ code: error ? Number(error.code) : 0, said: stdout + stderr }),
    )
  })
const run = (...given: string[]) => runAt('', ...given)

describe('npm run verify-mirror', () => {
  it('finds what is missing or different in a copy, by the last manifest that lists it', async () => {
    write('a/1.xml', 'one')
    write('a/2.xml', 'two, again')
    write('manifests/stc_1/2026-05-20/manifest.jsonl', `${line('a/1.xml', 'one')}\n${line('a/2.xml', 'two')}\n`)
    write('manifests/stc_1/2026-05-20/manifest-2.jsonl', `${line('a/2.xml', 'two, again')}\n`)
    expect(await run(folder)).toMatchObject({ code: 0, said: expect.stringContaining('2 manifests list 2 objects: 0 are missing') })
    write(
      'manifests/stc_1/2026-05-21/manifest.jsonl',
      `${line('a/3.xml', 'three')}\n${line('a/1.xml', 'another')}\nnothing\n${line('../x', 'x')}\n`,
    )
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
    for (const [connector, day, path] of [
      ['stc_1', '2026-05-20', 'x'],
      ['stc_2', '2026-05-20', 'y'],
      ['stc_2', '2026-05-21', 'z'],
    ] as const) {
      const at = join(two, 'manifests', connector, day)
      mkdirSync(at, { recursive: true })
      writeFileSync(join(at, 'manifest.jsonl'), `${line(path, path)}\n`)
    }
    writeFileSync(join(two, 'x'), 'x')
    expect(await run(two)).toMatchObject({ code: 1, said: expect.stringMatching(/missing {4}y\nmissing {4}z\n3 manifests list 3 objects/) })
  })

  it('reads every manifest of a day that is in the folder, also when others are not', async () => {
    const other = mkdtempSync(join(folder, 'other-'))
    const day = join(other, 'manifests/stc_1/2026-05-20')
    mkdirSync(day, { recursive: true })
    writeFileSync(join(day, 'manifest-3.jsonl'), `${line('x.xml', 'x')}\n`)
    writeFileSync(join(day, 'manifest-12.jsonl'), `${line('y.xml', 'y')}\n`)
    writeFileSync(join(other, 'x.xml'), 'x')
    expect(await run(other)).toMatchObject({ code: 1, said: expect.stringContaining('2 manifests list 2 objects: 1 are missing') })
  })

  it('explains itself, and refuses a folder without manifests', async () => {
    expect(await run()).toMatchObject({ code: 2, said: expect.stringContaining('--connector file.json --since') })
    expect(await run('--connector', 'file.json')).toMatchObject({ code: 2 })
    expect(await run(join(folder, 'a'))).toMatchObject({ code: 1, said: expect.stringContaining('There is no manifest of these days.') })
  })

  it('reads the manifests of each day at a destination, until one is not there', async () => {
    const read: string[] = []
    const objects = new Map([
      ['manifests/stc_1/2026-02-28/manifest.jsonl', line('x.xml', 'x')],
      ['manifests/stc_1/2026-03-01/manifest.jsonl', line('y.xml', 'y')],
      ['x.xml', 'x'],
    ])
    const copy = {
      read: async (path: string) => {
        read.push(path)
        const text = objects.get(path)
        return text === undefined ? null : new TextEncoder().encode(text)
      },
    }
    const found = await verifyCopy(copy, ['stc_1'], daysBetween('2026-02-27', '2026-03-01'))
    expect(found).toEqual({ manifests: 2, listed: 2, missing: ['y.xml'], different: [], unreadable: [] })
    expect(read.slice(0, 5)).toEqual([
      'manifests/stc_1/2026-02-27/manifest.jsonl',
      'manifests/stc_1/2026-02-28/manifest.jsonl',
      'manifests/stc_1/2026-02-28/manifest-2.jsonl',
      'manifests/stc_1/2026-03-01/manifest.jsonl',
      'manifests/stc_1/2026-03-01/manifest-2.jsonl',
    ])
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
    const day = add(add(add(prefix, 'manifests', null), connector_id, null), '2026-05-20', null)
    add(day, 'manifest.jsonl', `${line('1.xml', 'one')}\n`)
    add(day, 'manifest-2.jsonl', `${line('2.xml', 'two')}\n`)
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

import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { daysBetween, verifyCopy } from '../../scripts/mirror/verification.ts'
import { ROOT } from '../../scripts/wrangler.ts'

const folder = mkdtempSync(join(tmpdir(), 'fiscal-mirror-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const write = (path: string, text: string): void => {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), text)
}
const line = (path: string, text: string): string =>
  JSON.stringify({ sha256: createHash('sha256').update(text).digest('hex'), uuid: path, path, rfc: 'AAA010101AAA', size: text.length })

const run = (...given: string[]): Promise<{ code: number; said: string }> =>
  new Promise((done) => {
    execFile(process.execPath, [join(ROOT, 'scripts/verify-mirror.ts'), ...given], (error, stdout, stderr) =>
      done({ code: error ? Number(error.code) : 0, said: stdout + stderr }),
    )
  })

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

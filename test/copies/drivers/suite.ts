import { describe, expect, it } from 'vitest'
import { type Destination, DestinationError, type DestinationFault } from '../../../src/copies/drivers/port.ts'
import { type Knowledge, objectOf } from '../support/wire.ts'

/** A place that the suite runs over: a stand-in, or a real server. */
export interface Rig {
  open(knowledge?: Knowledge): Destination | Promise<Destination>
  /** The content type with which an object lies there. */
  typeOf(path: string): Promise<string | null>
  /** With what a wrong secret and a missing place are refused, where it is not access_denied and not_found. */
  refusals?: Partial<Record<Knowledge, DestinationFault>>
}

const UUID = '5B2E1F0A-9C64-4F0E-8B1D-2A7C3D4E5F60'
const DEEP = Array.from({ length: 30 }, (_, n) => `nivel ${n}`).join('/')
/** 400 characters, most of them of two bytes. */
const LONG = `${['Ñ', 'ó', 'ñ'].map((letter) => letter.repeat(99)).join('/')}/${'é'.repeat(96)}.xml`

const PATHS = [
  `EKU9003173C9/2026/11/issued/${UUID}.xml`,
  `fiscal/ÑU&800101AB1/recibidos/${UUID}.xml`,
  'Ñandú & Compañía, S.A. de C.V/año 2026/50% más +1 = (a) @b.xml',
  'a%20b/a b/a+b/%2F.xml',
  `${DEEP}/${UUID}.xml`,
  LONG,
]

export const textOf = (bytes: Uint8Array | null): string | null => bytes && new TextDecoder().decode(bytes)

/** What every driver does where everything works, and where the connector is wrong. */
export function destinationSuite(name: string, rig: () => Rig): void {
  const open = async (knowledge?: Knowledge) => rig().open(knowledge)
  const refused = async (operation: Promise<unknown>): Promise<DestinationError> => {
    const error = await operation.then(
      () => null,
      (reason: unknown) => reason,
    )
    expect(error).toBeInstanceOf(DestinationError)
    return error as DestinationError
  }

  describe(`a destination at ${name}`, () => {
    it('stores an object with its bytes and its content type, reads it, and removes it', async () => {
      const destination = await open()
      expect(await destination.read('a/document.xml')).toBeNull()
      await destination.put('a/document.xml', await objectOf('<año/>'))
      expect(textOf(await destination.read('a/document.xml'))).toBe('<año/>')
      expect(await rig().typeOf('a/document.xml')).toBe('application/xml')
      await destination.put('a/manifest.jsonl', await objectOf('{}', 'application/x-ndjson'))
      expect(await rig().typeOf('a/manifest.jsonl')).toBe('application/x-ndjson')
      await destination.remove('a/document.xml')
      expect(await destination.read('a/document.xml')).toBeNull()
      expect(textOf(await destination.read('a/manifest.jsonl'))).toBe('{}')
    })

    it('replaces the object at a path, and a repetition changes nothing', async () => {
      const destination = await open()
      for (const text of ['first', 'first', 'second, longer', 'x']) {
        await destination.put('replaced/one.xml', await objectOf(text))
        expect(textOf(await (await open()).read('replaced/one.xml'))).toBe(text)
      }
    })

    it('removes what is not there, in a folder that is there or not', async () => {
      const destination = await open()
      await destination.put('there/one.xml', await objectOf('one'))
      for (const path of ['there/none.xml', 'not/there/at all.xml', 'none.xml']) {
        await destination.remove(path)
        expect(await destination.read(path)).toBeNull()
      }
      await destination.remove('there/one.xml')
      await destination.remove('there/one.xml')
      expect(await destination.read('there/one.xml')).toBeNull()
    })

    it('takes every name: accents, &, %, +, spaces, deep folders, 400 characters', async () => {
      const destination = await open()
      expect(LONG).toHaveLength(400)
      for (const path of PATHS) await destination.put(path, await objectOf(`at ${path}`))
      for (const path of PATHS) expect(textOf(await destination.read(path))).toBe(`at ${path}`)
      for (const path of PATHS) await destination.remove(path)
      for (const path of PATHS) expect(await destination.read(path)).toBeNull()
    })

    it.each([0, 1, 8 * 1_048_576])('takes an object of %i bytes', async (length) => {
      const destination = await open()
      const bytes = new Uint8Array(length)
      for (let at = 0; at < length; at += 65_536) crypto.getRandomValues(bytes.subarray(at, at + 65_536))
      const object = await objectOf(bytes, 'application/octet-stream')
      await destination.put(`sizes/${length}.bin`, object)
      const read = await destination.read(`sizes/${length}.bin`)
      expect((await objectOf(read!)).sha256).toBe(object.sha256)
    })

    it('has one object, and a whole one, after several puts at once to one path', async () => {
      const destination = await open()
      const texts = ['one', 'two, longer', 'three']
      await Promise.allSettled(texts.map(async (text) => destination.put('at once/one.xml', await objectOf(text))))
      expect(texts).toContain(textOf(await destination.read('at once/one.xml')))
      await destination.put('at once/one.xml', await objectOf('last'))
      expect(textOf(await destination.read('at once/one.xml'))).toBe('last')
      await destination.remove('at once/one.xml')
      expect(await destination.read('at once/one.xml')).toBeNull()
    })

    it.each(['wrong secret', 'missing place'] as const)('refuses a connector with a %s, and says so', async (knowledge) => {
      const expected = rig().refusals?.[knowledge] ?? (knowledge === 'wrong secret' ? 'access_denied' : 'not_found')
      const destination = await open(knowledge)
      const object = await objectOf('one')
      const operations = [() => destination.put('one.xml', object), () => destination.read('one.xml'), () => destination.remove('one.xml')]
      for (const operation of operations) {
        const { code, message } = await refused(operation())
        expect([code, message]).toEqual([expected, expect.stringMatching(/^[A-Z][^<>]+\.$/)])
      }
      expect(await (await open()).read('one.xml')).toBeNull()
    })
  })
}

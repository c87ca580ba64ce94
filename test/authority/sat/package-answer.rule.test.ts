import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Unanswered } from '../../../src/authority/sat/answers.ts'
import { readPackage } from '../../../src/authority/sat/session.ts'
import { runs } from '../../support/fuzz.ts'
import { envelope, faultAnswer, PAGE, packageAnswer, requestAnswer } from '../support/sat-answers.ts'

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')

/** The bytes of a text in parts of these sizes, which begin again when they are used up. */
async function* inParts(text: string, sizes: readonly number[] = [1_000]): AsyncGenerator<Uint8Array> {
  const bytes = new TextEncoder().encode(text)
  for (let at = 0, n = 0; at < bytes.length; n++) {
    const end = at + sizes[n % sizes.length]!
    yield bytes.slice(at, end)
    at = end
  }
}

const read = async (body: AsyncIterable<Uint8Array>) => {
  const written: Uint8Array[] = []
  const answer = await readPackage(body, async (bytes) => {
    written.push(bytes.slice())
  })
  return { ...answer, bytes: Buffer.concat(written) }
}
const kind = (body: AsyncIterable<Uint8Array>): Promise<unknown> =>
  read(body).then(
    ({ meaning }) => meaning,
    (error: unknown) => (error instanceof Unanswered ? error.kind : error),
  )

describe('a package', () => {
  it('is read whole, wherever its answer is divided, with white space and character references anywhere', async () => {
    const white = fc.constantFrom('', '', '', '\n', '\r\n  ', '&#13;&#10;', '&#xD;\n')
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ minLength: 1, maxLength: 60 }),
        fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 4 }),
        white,
        fc.integer({ min: 1, max: 20 }),
        fc.boolean(),
        fc.constantFrom(/\s/g, /[+/=]/g, /[\w+/=]/g),
        async (bytes, sizes, space, every, isWrapped, referred) => {
          const around = space.startsWith('&') ? '' : space
          const wrapped = (text: string) => (isWrapped ? `${around}<![CDATA[${text}]]>${around}` : text)
          const lines = base64(bytes).match(new RegExp(`.{1,${every}}`, 'g')) ?? []
          const text = lines.map((line) => line.replace(referred, (letter) => `&#${letter.charCodeAt(0)};`)).join(space)
          const {
            meaning,
            code,
            message,
            bytes: got,
          } = await read(inParts(packageAnswer(wrapped(`${space}${text}${space}`), '5000', 'Aceptación'), sizes))
          expect({ meaning, code, message }).toEqual({ meaning: 'accepted', code: '5000', message: 'Aceptación' })
          expect(Buffer.compare(got, bytes)).toBe(0)
        },
      ),
      { numRuns: runs(300, 10_000) },
    )
  })

  it('is given on in parts as it comes, and the next part waits for the last', async () => {
    const bytes = randomBytes(1_000_000)
    let isWriting = false
    let most = 0
    let count = 0
    await readPackage(inParts(packageAnswer(base64(bytes)), [300_000, 10]), async (part) => {
      expect(isWriting).toBe(false)
      isWriting = true
      await new Promise((resolve) => setTimeout(resolve, 0))
      isWriting = false
      most = Math.max(most, part.length)
      count += part.length
    })
    expect(count).toBe(bytes.length)
    expect(most).toBeLessThanOrEqual(50_000)
  })

  it.each([
    ['404', 'Error no controlado.', 'failed'],
    ['300', 'Token inválido', 'token_refused'],
    ['305', 'Certificado Inválido', 'certificate_refused'],
    ['5004', 'No se encontró la información', 'package_gone'],
    ['5006', 'Error interno en el proceso', 'failed'],
    ['5007', 'No existe el paquete solicitado', 'package_gone'],
    ['5008', 'Máximo de descargas permitidas', 'package_used_up'],
    ['77', 'Algo nuevo', 'unknown'],
  ])('that does not come with %s (%s) means %s', async (code, message, meaning) => {
    const { bytes, ...answer } = await read(inParts(packageAnswer('', code, message), [7]))
    expect(answer).toEqual({ meaning, code, message })
    expect(bytes).toHaveLength(0)
    expect(await kind(inParts(packageAnswer('', code, message).replace('<Paquete></Paquete>', '<Paquete />')))).toBe(meaning)
  })

  it('may have prefixes and attributes on its element', async () => {
    const answer = packageAnswer('UEs=')
      .replace('<Paquete>', '<des:Paquete xmlns:des="urn:x" a="b">')
      .replace('</Paquete>', '</des:Paquete>')
    expect(await kind(inParts(answer, [3]))).toBe('accepted')
  })

  it.each([
    ['an attribute with >', (answer: string) => answer.replace('<Paquete>', `<Paquete a='>' b=">/>" >`)],
    ['a comment that names it', (answer: string) => answer.replace('<Paquete>', '<!-- <Paquete>AAAA</Paquete> > --><!----><Paquete>')],
  ])('may have %s before its bytes, wherever its answer is divided', async (_, changed) => {
    const bytes = randomBytes(40)
    for (const size of [1, 2, 7, 1_000]) {
      const { meaning, bytes: got } = await read(inParts(changed(packageAnswer(base64(bytes))), [size]))
      expect([size, meaning, Buffer.compare(got, bytes)]).toEqual([size, 'accepted', 0])
    }
  })
})

describe('what is no package', () => {
  it('is an answer that breaks off, wherever', async () => {
    const answer = packageAnswer(base64(randomBytes(20)))
    for (let end = 12; end < answer.length; end++)
      expect(await kind(inParts(answer.slice(0, end), [40])), answer.slice(0, end)).toBe('truncated')
  })

  it.each([
    ['a page', PAGE, 'html'],
    ['a page without end', PAGE + ' '.repeat(100_000), 'html'],
    ['a fault', faultAnswer('InvalidSecurity', 'No.'), 'fault'],
    ['nothing', '', 'truncated'],
    ['another answer', requestAnswer({ CodEstatus: '5000' }), 'malformed'],
    ['an accepted answer without a package', packageAnswer(''), 'malformed'],
    ['a refused answer with a package', packageAnswer('UEs=', '5007'), 'malformed'],
    ['a package elsewhere', envelope('<Otra><Paquete>UEs=</Paquete></Otra>'), 'malformed'],
    ['a package without a status', packageAnswer('UEs=').replace(/<s:Header>.*<\/s:Header>/, ''), 'malformed'],
    ['a package after something else', packageAnswer('UEs=').replace('<Paquete>', '<Otro/><Paquete>'), 'malformed'],
    ['two packages', packageAnswer('UEs=</Paquete><Paquete>UEs='), 'malformed'],
    ['a package with elements', packageAnswer('UEs=<a/>'), 'malformed'],
    ['a package with an entity', packageAnswer('UEs&eq;'), 'malformed'],
    ['a package with a reference to another character', packageAnswer('UEs&#42;'), 'malformed'],
    ['a package with a reference beyond all characters', packageAnswer('UEs&#99999999;'), 'malformed'],
    ['a package with a reference that does not end', packageAnswer('UEs=&#13'), 'malformed'],
    ['a package with a reference without an end', packageAnswer(`UEs=&${'#'.repeat(20)}`), 'malformed'],
    ['what is not base64', packageAnswer('UE*='), 'malformed'],
    ['padding in the middle', packageAnswer('UEs=UEs='), 'malformed'],
    ['base64 that lacks characters', packageAnswer('UEsDB'), 'malformed'],
  ])('is %s', async (_, text, wanted) => {
    for (const sizes of [[1_000_000], [5]]) expect(await kind(inParts(text, sizes))).toBe(wanted)
  })

  it('is told of only after the bytes that came before', async () => {
    const answer = packageAnswer(base64(randomBytes(3_000)))
    let count = 0
    const broken = readPackage(inParts(answer.slice(0, -200)), async (bytes) => {
      count += bytes.length
    })
    await expect(broken).rejects.toMatchObject({ kind: 'truncated' })
    expect(count).toBeGreaterThan(1_500)
  })

  /** What breaks without it: an answer without an end fills the bucket for ten minutes, again and again. */
  it('is an answer that is larger than the limit: no more of it is taken, be it white space', async () => {
    for (const [sent, most] of [
      [base64(randomBytes(30_000)), 20_000],
      ['\n'.repeat(40_000), 20_000],
    ] as const) {
      let taken = 0
      async function* body() {
        for await (const part of inParts(packageAnswer(sent), [500])) {
          taken += part.length
          yield part
        }
      }
      let written = 0
      const reading = readPackage(
        body(),
        async ({ length }) => {
          written += length
        },
        most,
      )
      await expect(reading).rejects.toMatchObject({ kind: 'too_large' })
      expect(taken).toBeLessThanOrEqual(most + 500)
      expect(written).toBeLessThanOrEqual(most)
    }
    const answer = packageAnswer(base64(randomBytes(3_000)))
    expect(await readPackage(inParts(answer), async () => {}, answer.length)).toMatchObject({ meaning: 'accepted' })
  })

  it('leaves what a writer throws as it is, and takes nothing more', async () => {
    let isEnded = false
    async function* body() {
      try {
        yield* inParts(packageAnswer(base64(randomBytes(5_000))))
      } finally {
        isEnded = true
      }
    }
    await expect(readPackage(body(), () => Promise.reject(new RangeError('full')))).rejects.toThrow(RangeError)
    expect(isEnded).toBe(true)
  })
})

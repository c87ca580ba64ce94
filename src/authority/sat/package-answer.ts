import { type SatAnswer, statusOf } from './answers.ts'
import { Base64Decoder } from './base64.ts'
import { meaningForPackage } from './meanings.ts'
import { envelopeOf, find } from './soap.ts'
import { Unanswered, unexpected } from './unanswered.ts'

/** A comment, which may not have ended, or the opening tag of the element that contains the package; without a package it is empty. */
const OPENING = /<!--(?:[\s\S]*?-->|[\s\S]*$)|(<(?:[\w.-]+:)?Paquete(?:\s(?:[^<>"']|"[^"<]*"|'[^'<]*')*)?>)/g
/** What a package may be wrapped in. */
const CDATA = '<![CDATA['
/** What ends the package: the next tag, or the end of that. */
const [LESS_THAN, BRACKET] = [0x3c, 0x5d] as const
/** In characters: the most that stands around a package. */
const MAX_AROUND = 65_536
/** In bytes: the largest answer, which has a package of about 1.1 GB. Nothing else would end one that goes on and on. */
const MAX_ANSWER = 1_500_000_000

/**
 * Reads the answer to a request for a package as it comes. It gives the bytes of the package to `write`, part after part, and waits for each:
 * it never holds more than one part, and a part is good until the next one. Throws Unanswered, also after bytes were written: only when it returns, they are the whole package.
 * `most` is the limit of the answer in bytes.
 */
export async function readPackage(
  body: AsyncIterable<Uint8Array>,
  write: (bytes: Uint8Array) => Promise<void>,
  most = MAX_ANSWER,
): Promise<SatAnswer> {
  const utf8 = new TextDecoder()
  const base64 = new Base64Decoder()
  let place: 'before' | 'inside' | 'after' = 'before'
  let around = ''
  let isEmpty = true
  let isOpened = false
  let isWrapped = false
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > most) throw new Unanswered('too_large', 'The tax authority sent more than a package may have.')
    let rest = chunk
    if (place === 'before') {
      const text = utf8.decode(rest, { stream: true })
      const opening = isOpened || text.includes('>') ? openingIn(around + text) : null
      around += text
      if (opening) {
        isOpened = true
        const begin = opening.index + opening[0].length
        const next = around.slice(begin).trimStart()
        isWrapped = next.startsWith(CDATA)
        // It begins like one, and more has to come before that is known.
        if (next.length < CDATA.length && CDATA.startsWith(next)) continue
        const end = isWrapped ? around.indexOf(CDATA, begin) + CDATA.length : begin
        rest = new TextEncoder().encode(around.slice(end) + utf8.decode())
        around = around.slice(0, end)
        place = opening[0].endsWith('/>') ? 'after' : 'inside'
      }
    }
    if (place === 'inside') {
      const end = rest.indexOf(isWrapped ? BRACKET : LESS_THAN)
      for (const bytes of base64.decode(end < 0 ? rest : rest.subarray(0, end))) {
        isEmpty = false
        await write(bytes)
      }
      if (end < 0) continue
      base64.end()
      rest = rest.subarray(end)
      place = 'after'
    }
    if (place === 'after') around += utf8.decode(rest, { stream: true })
    if (around.length > MAX_AROUND) break
  }
  return answerOf(around, isEmpty)
}

const openingIn = (text: string): RegExpExecArray | undefined => text.matchAll(OPENING).find(([, tag]) => tag !== undefined)

/** Everything around the package has to be right, too: an answer that breaks off is no envelope. */
function answerOf(around: string, isEmpty: boolean): SatAnswer {
  const envelope = envelopeOf(around)
  const status = find(envelope, 'Header', 'respuesta')
  const [element, another] = find(envelope, 'Body', 'RespuestaDescargaMasivaTercerosSalida')?.children ?? []
  if (!status || element?.name !== 'Paquete' || element.text !== '' || element.children.length > 0 || another) throw unexpected()
  const { code, message } = statusOf(status)
  const meaning = meaningForPackage(code, message)
  if (isEmpty === (meaning === 'accepted')) throw unexpected()
  return { meaning, code, message }
}

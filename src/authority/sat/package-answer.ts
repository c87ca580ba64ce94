import { type SatAnswer, statusOf } from './answers.ts'
import { Base64Decoder } from './base64.ts'
import { meaningForPackage } from './meanings.ts'
import { envelopeOf, find } from './soap.ts'
import { unexpected } from './unanswered.ts'

/** The opening tag of the element that contains the package; without a package it is empty. */
const OPENING = /<(?:[\w.-]+:)?Paquete(?:\s[^<>]*)?>/
/** In characters: the most that stands around a package. */
const MAX_AROUND = 65_536

/**
 * Reads the answer to a request for a package as it comes. It gives the bytes of the package to `write`, part after part, and waits for each:
 * it never holds more than one part. Throws Unanswered, also after bytes were written: only when it returns, they are the whole package.
 */
export async function readPackage(body: AsyncIterable<Uint8Array>, write: (bytes: Uint8Array) => Promise<void>): Promise<SatAnswer> {
  const utf8 = new TextDecoder()
  const base64 = new Base64Decoder()
  let place: 'before' | 'inside' | 'after' = 'before'
  let around = ''
  let isEmpty = true
  for await (const chunk of body) {
    let text = utf8.decode(chunk, { stream: true })
    if (place === 'before' && text.includes('>')) {
      const opening = OPENING.exec(around + text)
      if (opening) {
        const end = opening.index + opening[0].length
        text = (around + text).slice(end)
        around = opening.input.slice(0, end)
        place = opening[0].endsWith('/>') ? 'after' : 'inside'
      }
    }
    if (place === 'inside') {
      const end = text.indexOf('<')
      for (const bytes of base64.decode(end < 0 ? text : text.slice(0, end))) {
        isEmpty = false
        await write(bytes)
      }
      if (end < 0) continue
      base64.end()
      text = text.slice(end)
      place = 'after'
    }
    around += text
    if (around.length > MAX_AROUND) break
  }
  return answerOf(around, isEmpty)
}

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

import { inOneGo, type Steps } from './work/pause.ts'

/** Receives the parts of a document, in its order. */
export interface Handler {
  /** An attribute of the element that opens next: its value is normalized and its references are resolved. */
  attribute: (name: string, value: string) => void
  /** `at` is where the element's tag begins in the text. */
  open: (name: string, attributes: Readonly<Record<string, string>>, at: number) => void
  close: () => void
  /** Text inside the root, with its references resolved, or the content of a CDATA section. Other markup divides it into parts. */
  text?: (text: string) => void
}

/** The surrogates stand for U+10000 to U+EFFFF: none is alone where FORBIDDEN finds nothing. */
const START =
  ':A-Z_a-z\\xC0-\\xD6\\xD8-\\xF6\\xF8-\\u02FF\\u0370-\\u037D\\u037F-\\u1FFF\\u200C\\u200D\\u2070-\\u218F\\u2C00-\\u2FEF\\u3001-\\uD7FF' +
  '\\uF900-\\uFDCF\\uFDF0-\\uFFFD\\uD800-\\uDB7F\\uDC00-\\uDFFF'
const NAME = new RegExp(`[${START}][${START}.0-9\\xB7\\u0300-\\u036F\\u203F\\u2040-]*`, 'y')
const SPACE = /[ \t\r\n]+/y
const EQUALS = /[ \t\r\n]*=[ \t\r\n]*["']/y
const declared = (name: string, values: string): string => `[ \\t\\r\\n]+${name}[ \\t\\r\\n]*=[ \\t\\r\\n]*(?:"${values}"|'${values}')`
const DECLARATION = new RegExp(
  `<\\?xml${declared('version', '1\\.\\d+')}(?:${declared('encoding', '[A-Za-z][\\w.-]*')})?(?:${declared('standalone', '(?:yes|no)')})?` +
    '[ \\t\\r\\n]*\\?>',
  'y',
)
const TAG_END = /[ \t\r\n]*>/y
const EMPTY_TAG_END = /[ \t\r\n]*\/>/y
const INSTRUCTION_BODY = /(?=[? \t\r\n])/y
const COMMENT = /<!--/y
const CDATA = /<!\[CDATA\[/y

const FORBIDDEN = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/u
const NUMBER = /^#(?:(\d+)|x([\dA-Fa-f]+))$/
const ENTITIES: ReadonlyMap<string, string> = new Map(Object.entries({ lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" }))

/** How many characters are read in a step, which takes some milliseconds. */
const STEP = 64 * 1024

/**
 * Reads a text as well-formed XML 1.0 (fifth edition) and reports its elements and attributes. It knows no namespaces, and here a document
 * type is not well formed. Source: https://www.w3.org/TR/xml/.
 */
export class XmlReader {
  readonly #text: string
  /** The place of the first character that XML does not allow. */
  readonly #forbidden: number
  /** The end of the text that was read. */
  #at = 0

  constructor(text: string) {
    this.#text = text
    const forbidden = text.search(FORBIDDEN)
    this.#forbidden = forbidden < 0 ? text.length : forbidden
  }

  /** The line that was reached, from 1. */
  get line(): number {
    let line = 1
    for (let at = 0; at < this.#at; at++) {
      const code = this.#text.charCodeAt(at)
      if (code === LF || (code === CR && this.#text.charCodeAt(at + 1) !== LF)) line++
    }
    return line
  }

  /** Throws an Error whose message is the reason, without any of the text. Errors of `handler` pass through. */
  read(handler: Handler): void {
    inOneGo(this.steps(handler))
  }

  /** The same in steps. */
  *steps(handler: Handler): Steps<void> {
    const names: string[] = []
    let hasRoot = false
    let next = STEP
    if (this.#text.startsWith('\uFEFF')) this.#at = 1
    this.#takes(DECLARATION)
    while (this.#readText(handler, names.length > 0)) {
      const begin = this.#at
      if (begin > next) {
        next = begin + STEP
        yield
      }
      const mark = this.#text[begin + 1]
      if (mark === '!') this.#readMarkup(handler, names.length > 0)
      else if (mark === '?') this.#skipInstruction()
      else if (mark === '/') {
        this.#passTo(begin + 2)
        if (this.#takeName() !== names.pop() || !this.#takes(TAG_END)) throw new Error('a closing tag is not right')
        handler.close()
      } else {
        this.#passTo(begin + 1)
        const name = this.#takeName()
        if (name === '') throw new Error('a tag has no name')
        if (hasRoot && names.length === 0) throw new Error('there is a second root')
        hasRoot = true
        const attributes = this.#readAttributes(handler)
        const isEmpty = this.#takes(EMPTY_TAG_END)
        if (!isEmpty && !this.#takes(TAG_END)) throw new Error('a tag is not right')
        handler.open(name, attributes, begin)
        if (isEmpty) handler.close()
        else names.push(name)
      }
    }
    if (names.length > 0) throw new Error('the text ends inside an element')
    if (!hasRoot) throw new Error('there is no root')
  }

  /** Reads the text before the next markup. False at the end. */
  #readText(handler: Handler, isInRoot: boolean): boolean {
    const next = this.#text.indexOf('<', this.#at)
    const text = this.#text.slice(this.#at, next < 0 ? undefined : next)
    this.#passTo(this.#at + text.length)
    if (!isInRoot && /[^ \t\r\n]/.test(text)) throw new Error('there is text outside the root')
    if (text.includes(']]>')) throw new Error('text contains ]]>')
    const value = meant(text, 'text')
    if (isInRoot && value !== '') handler.text?.(value)
    return next >= 0
  }

  #readAttributes(handler: Handler): Record<string, string> {
    const attributes: Record<string, string> = Object.create(null)
    while (this.#takes(SPACE)) {
      const name = this.#takeName()
      if (name === '') break
      if (!this.#takes(EQUALS)) throw new Error('an attribute has no value in quotes')
      const raw = this.#takeUntil(this.#text[this.#at - 1]!)
      if (raw.includes('<')) throw new Error('an attribute contains <')
      if (attributes[name] !== undefined) throw new Error('an attribute occurs twice')
      const value = meant(raw, 'attribute')
      attributes[name] = value
      handler.attribute(name, value)
    }
    return attributes
  }

  #skipInstruction(): void {
    this.#passTo(this.#at + 2)
    if (/^(xml)?$/i.test(this.#takeName()) || !this.#takes(INSTRUCTION_BODY)) throw new Error('an instruction or declaration is not right')
    this.#takeUntil('?>')
  }

  #readMarkup(handler: Handler, isInRoot: boolean): void {
    if (this.#takes(COMMENT)) {
      this.#takeUntil('--')
      if (!this.#takes(/>/y)) throw new Error('a comment contains --')
    } else {
      if (!isInRoot || !this.#takes(CDATA)) throw new Error('there is markup that is not right')
      const text = this.#takeUntil(']]>')
      if (text !== '') handler.text?.(meant(text, 'cdata'))
    }
  }

  #takes(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at
    if (!pattern.test(this.#text)) return false
    this.#passTo(pattern.lastIndex)
    return true
  }

  /** A name, or nothing when none is here. */
  #takeName(): string {
    const from = this.#at
    return this.#takes(NAME) ? this.#text.slice(from, this.#at) : ''
  }

  /** Passes the next mark and returns what stands before it. */
  #takeUntil(mark: string): string {
    const from = this.#at
    const end = this.#text.indexOf(mark, from)
    if (end < 0) throw new Error('the text ends too early')
    this.#passTo(end + mark.length)
    return this.#text.slice(from, end)
  }

  #passTo(end: number): void {
    this.#at = Math.min(end, this.#forbidden)
    if (end > this.#forbidden) throw new Error('there is a character that XML does not allow')
  }
}

const [TAB, LF, CR, SPACE_CODE, AMPERSAND] = [9, 10, 13, 32, 38]
const pieces = new Uint16Array(4_096)

/** Puts a text together from its characters, one text at a time, in little memory however many they are. */
export function textOf(write: (put: (code: number) => void) => void): string {
  const parts: string[] = []
  let length = 0
  const flush = () => {
    parts.push(String.fromCharCode.apply(null, pieces.subarray(0, length) as unknown as number[]))
    length = 0
  }
  write((code) => {
    if (length === pieces.length) flush()
    pieces[length++] = code
  })
  flush()
  return parts.join('')
}

/** What makes a part of a document mean something else than it says. */
const UNLIKE = { attribute: /[&\t\n\r]/, text: /[&\r]/, cdata: /\r/ }

/** What a part of a document means: with its references resolved, and one character for a line end. Throws an Error on any other reference. */
const meant = (raw: string, part: keyof typeof UNLIKE): string =>
  UNLIKE[part].test(raw)
    ? textOf((put) => {
        for (let at = 0; at < raw.length; at++) {
          const code = raw.charCodeAt(at)
          if (code === AMPERSAND && part !== 'cdata') {
            const end = raw.indexOf(';', at)
            const character = characterOf(raw.slice(at + 1, Math.max(end, at + 1)))
            for (let n = 0; n < character.length; n++) put(character.charCodeAt(n))
            at = end
          } else {
            if (code === CR && raw.charCodeAt(at + 1) === LF) at++
            if (part === 'attribute') put(code === TAB || code === LF || code === CR ? SPACE_CODE! : code)
            else put(code === CR ? LF! : code)
          }
        }
      })
    : raw

function characterOf(reference: string): string {
  const entity = ENTITIES.get(reference)
  if (entity !== undefined) return entity
  const [, decimal, hexadecimal] = NUMBER.exec(reference) ?? []
  if (decimal === undefined && hexadecimal === undefined) throw new Error('there is a reference that means nothing')
  const code = decimal === undefined ? Number.parseInt(hexadecimal!, 16) : Number(decimal)
  const character = code <= 0x10ffff ? String.fromCodePoint(code) : '\0'
  if (FORBIDDEN.test(character)) throw new Error('there is a reference to a character that XML does not allow')
  return character
}

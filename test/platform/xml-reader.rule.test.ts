import { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import { SaxesParser } from 'saxes'
import { expect, it } from 'vitest'
import { XmlReader } from '../../src/platform/xml-reader.ts'
import { runs } from '../support/fuzz.ts'

type Notified = (readonly [string, ...unknown[]])[]

/** Parsers divide text as they like: parts that follow each other are one. */
const textSaid = (notified: Notified, text: string): void => {
  const last = notified.at(-1)
  if (last?.[0] === 'text') notified[notified.length - 1] = ['text', `${last[1]}${text}`]
  else notified.push(['text', text])
}

const ours = (text: string): Notified => {
  const notified: Notified = []
  new XmlReader(text).read({
    attribute: (name, value) => notified.push(['attribute', name, value]),
    open: (name, attributes) => notified.push(['open', name, { ...attributes }]),
    close: () => notified.push(['close']),
    text: (text) => textSaid(notified, text),
  })
  return notified
}

/** The library overlooks half of a surrogate pair. */
const reference = (text: string): Notified => {
  if (!text.isWellFormed()) throw new Error('not Unicode')
  const notified: Notified = []
  const parser = new SaxesParser({ xmlns: false })
  parser.on('attribute', ({ name, value }) => notified.push(['attribute', name, value]))
  parser.on('opentag', ({ name, attributes }) => notified.push(['open', name, { ...attributes }]))
  // The library also tells of white space outside the root, which is no text of the document.
  let depth = 0
  parser.on('opentagstart', () => depth++)
  parser.on('closetag', () => {
    depth--
    notified.push(['close'])
  })
  parser.on('text', (text) => depth > 0 && textSaid(notified, text))
  parser.on('cdata', (text) => text !== '' && textSaid(notified, text))
  parser.write(text).close()
  return notified
}

const outcome = (read: (text: string) => Notified, text: string): Notified | 'refused' => {
  try {
    return read(text)
  } catch {
    return 'refused'
  }
}

const agree = (text: string): void => expect(outcome(ours, text), JSON.stringify(text)).toEqual(outcome(reference, text))

const space = fc.constantFrom(' ', '\n', '\t', '\r\n', '\r', '  ')
const gap = fc.constantFrom('', '', '', ' ', '\r\n')
const name = fc.constantFrom('a', 'b', 'cfdi:Emisor', '_1', 'ñ', 'x·y', '𐐀', '__proto__', 'xml')
const reference_ = fc.constantFrom('&amp;', '&lt;', '&gt;', '&quot;', '&apos;', '&#65;', '&#xf1;', '&#x1F600;', '&#10;', '&#xD;', '&#9;')
const character = fc.constantFrom(
  'x',
  'Ñ',
  '😀',
  '\u{F0000}',
  '\uFFFD',
  ']',
  '>',
  '-',
  '?',
  '=',
  '/',
  ' ',
  '\t',
  '\n',
  '\r',
  '\r\n',
  ';',
  '#',
)
const texts = (others: readonly string[]) =>
  fc.array(fc.oneof(character, reference_, ...others.map((one) => fc.constant(one)))).map((all) => all.join(''))
const value = fc.oneof(
  texts(["'"]).map((text) => `"${text}"`),
  texts(['"']).map((text) => `'${text}'`),
)
const attributes = fc
  .uniqueArray(fc.tuple(space, name, gap, gap, value), { selector: ([, name]) => name, maxLength: 4 })
  .map((all) => all.map(([space, name, before, after, value]) => `${space}${name}${before}=${after}${value}`).join(''))
const misc = fc.oneof(
  space,
  texts([]).map((text) => `<!--${text.replaceAll('-', '')}-->`),
  fc.tuple(fc.constantFrom('x', 'xml-stylesheet', 'ñ'), texts([])).map(([name, text]) => `<?${name} ${text.replaceAll('?>', '')}?>`),
)
const text = texts(['"', "'"]).map((text) => text.replaceAll(']]>', ''))
const cdata = texts(['<', '&']).map((text) => `<![CDATA[${text.replaceAll(']]>', '')}]]>`)

const { element } = fc.letrec<{ element: string; content: string }>((tie) => ({
  content: fc.array(fc.oneof({ depthSize: 'small' }, text, misc, cdata, tie('element')), { maxLength: 4 }).map((all) => all.join('')),
  element: fc.oneof(
    { depthSize: 'small' },
    fc.tuple(name, attributes, gap).map(([name, attributes, gap]) => `<${name}${attributes}${gap}/>`),
    fc
      .tuple(name, attributes, gap, tie('content'), gap)
      .map(([name, attributes, gap, content, end]) => `<${name}${attributes}${gap}>${content}</${name}${end}>`),
  ),
}))
const prolog = fc.constantFrom(
  '',
  '\uFEFF',
  '<?xml version="1.0"?>',
  '<?xml version="1.0" encoding="UTF-8"?>\r\n',
  "\uFEFF<?xml\tversion = '1.0' encoding='ISO-8859-1'  standalone='yes' ?>",
)
const documents = fc
  .tuple(prolog, fc.array(misc, { maxLength: 2 }), element, fc.array(misc, { maxLength: 2 }))
  .map(([prolog, before, root, after]) => [prolog, ...before, root, ...after].join(''))

it('every well-formed document is read as the reference library reads it', () => {
  fc.assert(
    fc.property(documents, (text) => {
      expect(ours(text)).toEqual(reference(text))
    }),
    { numRuns: runs(1_000, 20_000) },
  )
})

const part = fc.constantFrom(
  ...[
    '<',
    '>',
    '/',
    '&',
    ';',
    '"',
    "'",
    '=',
    '!',
    '?',
    '-',
    '--',
    ']',
    ']]>',
    '[',
    ' ',
    '\n',
    '\r',
    'a',
    'x',
    '#',
    '0',
    ':',
    '\0',
    '\v',
    '\uFFFF',
  ],
  ...[
    '\uD800',
    '\uDC00',
    '\uFEFF',
    '\u00A0',
    '\u2003',
    '·',
    '<!--',
    '-->',
    '<![CDATA[',
    '<?',
    '?>',
    '<?xml ',
    '</a>',
    '<a>',
    '&#0;',
    '&#xFFFF;',
  ],
  ...[
    '&#x110000;',
    '&#xD800;',
    '&nbsp;',
    '&#;',
    '&#x;',
    '&;',
    'version="1.0"',
    " standalone='no'",
    ' encoding=""',
    '><',
    'a="1"',
    'xml',
    '\u{E0100}',
  ],
)

it('a document that is changed anywhere is refused when the reference library refuses it, and otherwise read as it reads it', () => {
  const change = fc.tuple(fc.nat(), fc.nat({ max: 3 }), fc.option(part, { nil: '' }))
  fc.assert(
    fc.property(documents, fc.array(change, { minLength: 1, maxLength: 3 }), (document, changes) => {
      agree(
        changes.reduce((text, [cursor, removed, added]) => {
          const at = cursor % (text.length + 1)
          return text.slice(0, at) + added + text.slice(at + removed)
        }, document),
      )
    }),
    { numRuns: runs(3_000, 100_000) },
  )
})

it('a long document is read as the reference library reads it, wherever it is divided', () => {
  const unit = fc.oneof(
    space,
    reference_,
    character.filter((one) => !'&<]'.includes(one)),
  )
  fc.assert(
    fc.property(fc.array(unit, { minLength: 1, maxLength: 7 }), (units) => {
      const text = units.join('').repeat(2_500)
      expect(ours(`<a b="${text}">${text}<![CDATA[${text}]]></a>`)).toEqual(reference(`<a b="${text}">${text}<![CDATA[${text}]]></a>`))
    }),
    { numRuns: runs(20, 1_000) },
  )
})

/** Runs a script on a reader with the memory of an isolate. */
const withLittleMemory = (text: string, read: string): Promise<number> => {
  const reader = JSON.stringify(new URL('../../src/platform/xml-reader.ts', import.meta.url).href)
  const script = `import(${reader}).then(({ XmlReader }) => {
    const reader = new XmlReader(${text})
    const handler = { attribute() {}, open() {}, close() {}, text() {} }
    ${read}
  })`
  return new Promise((resolve, reject) =>
    new Worker(script, { eval: true, resourceLimits: { maxOldGenerationSizeMb: 100 } }).on('exit', resolve).on('error', reject),
  )
}

it.each(['\t', '\r', 'a\r\n', '&lt;', '&#10;'])('10 MB of %j are read with the memory of an isolate', async (unit) => {
  const text = `${JSON.stringify(unit)}.repeat(${Math.floor(5_000_000 / unit.length)})`
  expect(await withLittleMemory(`'<a b="' + ${text} + '">' + ${text} + '</a>'`, 'reader.read(handler)')).toBe(0)
})

it('10 MB of line ends before a reference that means nothing are refused with the memory of an isolate, and the line is told', async () => {
  const read = `
    try { reader.read(handler) } catch {}
    if (reader.line !== 10_000_001) throw new Error(String(reader.line))`
  expect(await withLittleMemory(`'<a b="' + '\\r'.repeat(10_000_000) + '&a"/>'`, read)).toBe(0)
})

it.each(['<a/>', '<!---->', '<?a ?>', '<![CDATA[\r]]>', '&lt;<a b="&gt;"/>'])(
  'many %s are read in steps, between which others go on',
  (unit) => {
    const steps = new XmlReader(`<a>${unit.repeat(200_000)}</a>`).steps({ attribute: () => {}, open: () => {}, close: () => {} })
    expect([...steps].length).toBeGreaterThan(10)
  },
)

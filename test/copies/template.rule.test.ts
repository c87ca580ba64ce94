import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type CfdiObject,
  DEFAULT_TEMPLATE,
  documentPathOf,
  pathOf,
  prefixFault,
  previewOf,
  templateFault,
  withPrefix,
} from '../../src/copies/template.ts'
import { runs } from '../support/fuzz.ts'

const fault = (template: string, prefix = '') => templateFault(template, prefix)

describe('templateFault', () => {
  it.each([
    DEFAULT_TEMPLATE,
    '{uuid}-{rfc}.xml',
    '{rfc}{uuid}.xml',
    'CFDI/{rfc}/{kind}-{tipo}/{emisor_rfc}/{receptor_rfc}/{yyyy}-{mm}-{dd} {uuid}.xml',
    'Facturación/{rfc}/{uuid}.xml',
    'forms2/{rfc}/{uuid}.xml',
    '{rfc}_{uuid}_{tipo}_{yyyy}.xml',
    '{rfc}/{uuid}_{receptor_rfc}.xml',
  ])('accepts %s', (template) => expect(fault(template)).toBeNull())

  it.each([
    ['{rfc}/{uuid}/{banco}.xml', /^Must contain no other variables than \{rfc\}, .*\{receptor_rfc\}\.$/],
    ['{rfc}/{UUID}.xml', /no other variables/],
    ['{rfc}/{ uuid }.xml', /no other variables/],
    ['{rfc}/{uuid}{.xml', /no other variables/],
    ['{rfc}/{{uuid}}.xml', /no other variables/],
    ['{constructor}/{rfc}/{uuid}.xml', /no other variables/],
    ['{__proto__}/{rfc}/{uuid}.xml', /no other variables/],
    ['{rfc}/{yyyy}.xml', /\{uuid\}/],
    ['', /\{uuid\}/],
    ['{uuid}.xml', /\{rfc\}, because two RFCs/],
    ['{emisor_rfc}/{uuid}.xml', /\{rfc\}, because two RFCs/],
    ['{direction}/{uuid}.xml', /\{rfc\}, because two RFCs/],
    ['{direction}/{emisor_rfc}/{receptor_rfc}/{kind}/{tipo}/{yyyy}/{mm}/{dd}/{uuid}.xml', /\{rfc\}, because two RFCs/],
    ['{rfc}/{uuid}', /end in \.xml/],
    ['{rfc}/{uuid}.pdf', /end in \.xml/],
    ['{rfc}/{uuid}.XML', /end in \.xml/],
    ['/{rfc}/{uuid}.xml', /begin with a slash/],
    ['{rfc}//{uuid}.xml', /empty part/],
    ['{rfc}/../{uuid}.xml', /\. or \.\./],
    ['./{rfc}/{uuid}.xml', /\. or \.\./],
    ['.../{rfc}/{uuid}.xml', /\. or \.\./],
    ['{rfc}\\{uuid}.xml', /only letters/],
    ['{rfc}/{uuid}\n.xml', /only letters/],
    ['{rfc}/{uuid}\u0000.xml', /only letters/],
    ['{rfc}/{uuid}%2e.xml', /only letters/],
    ['{rfc}/{uuid}#.xml', /only letters/],
    ['{rfc}/{uuid}?.xml', /only letters/],
    ['{rfc}/{uuid}:a.xml', /only letters/],
    ['{rfc}/{uuid}*.xml', /only letters/],
    ['{rfc}/\ud800{uuid}.xml', /only letters/],
    [' a/{rfc}/{uuid}.xml', /begins or ends with a space/],
    ['a /{rfc}/{uuid}.xml', /begins or ends with a space/],
    ['a./{rfc}/{uuid}.xml', /ends with a dot/],
    ['con/{rfc}/{uuid}.xml', /con: some providers reserve/],
    ['LPT1.old/{rfc}/{uuid}.xml', /reserve/],
    ['PR{tipo}/{rfc}/{uuid}.xml', /PRN: some/],
    ['AU{tipo}/{rfc}/{uuid}.xml', /AUX: some/],
    ['a/_vti_{rfc}/{uuid}.xml', /reserve/],
    ['a/_VTI{receptor_rfc}/{rfc}_{uuid}.xml', /reserve/],
    ['Forms/{rfc}/{uuid}.xml', /Forms: some/],
    ['.lock/{rfc}/{uuid}.xml', /reserve/],
    ['desktop.ini/{rfc}/{uuid}.xml', /reserve/],
    [`${'a'.repeat(251)}/{rfc}/{uuid}.xml`, /no part longer than 250/],
    [`${'a/'.repeat(180)}{rfc}/{uuid}.xml`, /no path longer than 400/],
    [`${'한'.repeat(240)}/${'한'.repeat(90)}/{rfc}/{uuid}.xml`, /no path longer than 400/],
    ['{rfc}_{uuid}_{emisor_rfc}.xml', /only one side of/],
  ])('refuses %j', (template, why) => expect(fault(template)).toMatch(why))

  it('counts the prefix', () => {
    const long = `${'a'.repeat(200)}/${'b'.repeat(120)}`
    expect(fault(DEFAULT_TEMPLATE)).toBeNull()
    expect(prefixFault(long)).toBeNull()
    expect(fault('{rfc}/{emisor_rfc}/{receptor_rfc}/{uuid}.xml', long)).toMatch(/no path longer/)
    // A name that is reserved at the root alone.
    expect(fault('forms/{rfc}/{uuid}.xml', 'a')).toBeNull()
  })

  it('judges prefixes alike', () => {
    for (const prefix of ['', 'a', 'Fiscal 2026/cfdi', 'ñandú']) expect([prefix, prefixFault(prefix)]).toEqual([prefix, null])
    for (const prefix of ['/a', 'a//b', '..', 'a/../b', 'a\\b', 'nul', 'forms', 'a ', 'a.', 'a/{rfc}', 'x'.repeat(251), '\u0007'])
      expect(prefixFault(prefix)).toMatch(/^Must /)
  })
})

const rfc = fc
  .tuple(fc.stringMatching(/^[A-ZÑ&]{3,4}$/), fc.stringMatching(/^\d\d(0[1-9]|1[0-2])(0[1-9]|1\d|2[0-8])[A-Z\d]{2}[\dA]$/))
  .map((parts) => parts.join(''))
const uuid = fc.uuid().map((text) => text.toUpperCase())
const fecha = fc
  .date({ min: new Date('2018-01-01'), max: new Date('2030-01-01'), noInvalidDate: true })
  .map((date) => date.toISOString().slice(0, 19))

/**
 * A document between two RFCs, as each of them has it, and another document of the same UUID that a third RFC has imported: it says the same
 * of its parties, or has the third one in the place of either.
 */
const cfdis = fc
  .record({
    rfcs: fc.tuple(rfc, rfc, rfc),
    direction: fc.constantFrom('issued' as const, 'received' as const),
    isForged: fc.boolean(),
    uuid,
    fecha,
    kind: fc.constantFrom('cfdi' as const, 'retenciones' as const),
    tipo_comprobante: fc.constantFrom('I', 'E', 'P', 'N', 'T', 'con', '../x', null),
  })
  .map(({ rfcs: [emisor_rfc, receptor_rfc, third], direction, isForged, ...cfdi }): CfdiObject[] => [
    { ...cfdi, rfc: emisor_rfc, direction: 'issued', emisor_rfc, receptor_rfc },
    ...(emisor_rfc === receptor_rfc ? [] : [{ ...cfdi, rfc: receptor_rfc, direction: 'received' as const, emisor_rfc, receptor_rfc }]),
    {
      ...{ ...cfdi, rfc: third, direction, emisor_rfc, receptor_rfc },
      ...(isForged && (direction === 'issued' ? { emisor_rfc: third } : { receptor_rfc: third })),
    },
  ])

const PIECES = ['{rfc}', '{yyyy}', '{mm}', '{dd}', '{direction}', '{uuid}', '{kind}', '{tipo}', '{emisor_rfc}', '{receptor_rfc}']
const piece = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...PIECES) },
  { weight: 4, arbitrary: fc.constantFrom('/', '/', '-', '_', ' ', '.', 'a', 'Ñ', 'CO', 'con', '_vti', 'x-y') },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 4 }) },
)
const template = fc
  .tuple(
    fc.array(piece, { maxLength: 8 }),
    fc.constantFrom('{uuid}', '{rfc}/{uuid}', '{uuid}/{rfc}', '{direction}/{uuid}', ''),
    fc.array(piece, { maxLength: 4 }),
  )
  .map(([before, core, after]) => `${before.join('')}${core}${after.join('')}.xml`)

/** What OneDrive, the strictest, refuses, said independently of the rule. */
const isTaken = (path: string): boolean =>
  path.length <= 400 &&
  new TextEncoder().encode(path).length <= 1_024 &&
  path.isWellFormed() &&
  path.normalize('NFC').length > 0 &&
  path
    .split('/')
    .every(
      (part) =>
        part.length > 0 &&
        part.length <= 255 &&
        !/["*:<>?\\|\p{Cc}#%~]/u.test(part) &&
        part.trim() === part &&
        !part.endsWith('.') &&
        ![
          'con',
          'prn',
          'aux',
          'nul',
          '.lock',
          'desktop.ini',
          ...Array.from({ length: 10 }, (_, n) => [`com${n}`, `lpt${n}`]).flat(),
        ].includes(part.toLowerCase()) &&
        !part.toLowerCase().includes('_vti_'),
    )

describe('random templates', () => {
  it('are refused with a sentence, or give every document a path of its own that every provider takes', () => {
    let accepted = 0
    fc.assert(
      fc.property(template, fc.array(cfdis, { minLength: 1, maxLength: 20 }), (text, pairs) => {
        const why = fault(text)
        if (why !== null) {
          expect(why).toMatch(/^Must .*\.$/)
          return
        }
        accepted++
        const objects = [...new Map(pairs.flat().map((cfdi) => [`${cfdi.uuid}${cfdi.rfc}`, cfdi])).values()]
        const paths = objects.map((cfdi) => pathOf(text, cfdi))
        // OneDrive and Windows do not tell case apart.
        expect(new Set(paths.map((path) => path.toLowerCase())).size).toBe(objects.length)
        for (const path of paths) expect([path, isTaken(path)]).toEqual([path, true])
      }),
      { numRuns: runs(500, 30_000) },
    )
    expect(accepted).toBeGreaterThan(runs(40, 2_000))
  })
})

describe('paths', () => {
  it('say of a CFDI what its variables say', () => {
    const [cfdi]: CfdiObject[] = [
      {
        rfc: 'ÑU&800101AB1',
        uuid: '5B2E1F0A-9C64-4F0E-8B1D-2A7C3D4E5F60',
        direction: 'issued',
        fecha: '2026-11-03T10:15:00',
        kind: 'retenciones',
        tipo_comprobante: null,
        emisor_rfc: 'ÑU&800101AB1',
        receptor_rfc: '',
      },
    ]
    expect(pathOf('{rfc}/{yyyy}/{mm}/{dd}/{direction}/{kind}/{tipo}/{emisor_rfc}/{receptor_rfc}/{uuid}.xml', cfdi!)).toBe(
      '_NU_Y800101AB1/2026/11/03/issued/retenciones/R/_NU_Y800101AB1/_/5B2E1F0A-9C64-4F0E-8B1D-2A7C3D4E5F60.xml',
    )
  })

  it('of other documents have their RFC, kind, date and identifier', () => {
    const document = { rfc: 'A&A010101AAA', kind: 'opinion_32d', date: '2026-11-05', document_id: 'doc_x' }
    const of = (content_type: string) => documentPathOf({ ...document, content_type })
    expect(of('application/pdf')).toBe('A_YA010101AAA/documents/opinion_32d/2026-11-05-doc_x.pdf')
    expect(of('Text/XML; charset=utf-8')).toBe('A_YA010101AAA/documents/opinion_32d/2026-11-05-doc_x.xml')
    expect(of('image/x-unknown')).toBe('A_YA010101AAA/documents/opinion_32d/2026-11-05-doc_x.bin')
  })

  it('are shown with their prefix', () => {
    expect(previewOf(DEFAULT_TEMPLATE, 'fiscal')).toEqual([
      'fiscal/EKU9003173C9/2026/11/issued/5B2E1F0A-9C64-4F0E-8B1D-2A7C3D4E5F60.xml',
      'fiscal/EKU9003173C9/2026/10/received/5B2E1F0A-9C64-4F0E-8B1D-2A7C3D4E5F60.xml',
      'fiscal/EKU9003173C9/documents/csf/2026-11-05-doc_01kabcdefghjkmnpqrstvwxyz0.pdf',
    ])
    expect(withPrefix('', 'a')).toBe('a')
    expect(previewOf('{rfc}/{emisor_rfc}_{uuid}.xml', '')[1]).toBe('EKU9003173C9/_NU_Y800101AB1_5B2E1F0A-9C64-4F0E-8B1D-2A7C3D4E5F60.xml')
  })
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { CfdiDocument } from '../../../src/cfdi/xml/document.ts'
import { parseCfdi, parsingCfdi } from '../../../src/cfdi/xml/parse.ts'
import { CfdiRejected } from '../../../src/cfdi/xml/xml.ts'

const UUID = 'C0FFEE00-1111-4222-8333-444455556666'
const OTHER = 'BADBAD00-1111-4222-8333-444455556666'
const CFD4 = 'http://www.sat.gob.mx/cfd/4'
const TFD = 'http://www.sat.gob.mx/TimbreFiscalDigital'

const timbre = (uuid = UUID) =>
  `<tfd:TimbreFiscalDigital xmlns:tfd="${TFD}" Version="1.1" UUID="${uuid}" FechaTimbrado="2025-02-03T10:00:09" RfcProvCertif="SAT970701NN3"/>`

interface Parts {
  root?: string
  before?: string
  emisor?: string
  receptor?: string
  conceptos?: string
  complemento?: string
  after?: string
}

const ROOT =
  'Version="4.0" Serie="F" Folio="000123" Fecha="2025-02-03T10:00:00" Moneda="MXN" SubTotal="100" Total="116.00" TipoDeComprobante="I"'
const EMISOR = '<cfdi:Emisor Rfc="EKU9003173C9" Nombre="FERRETERIA DEL NORTE" RegimenFiscal="601"/>'
const RECEPTOR =
  '<cfdi:Receptor Rfc="URE180429TM6" Nombre="COMPAÑIA Ñ" UsoCFDI="G03" DomicilioFiscalReceptor="86991" RegimenFiscalReceptor="601"/>'

const cfdi = (parts: Parts = {}): string =>
  `<cfdi:Comprobante xmlns:cfdi="${CFD4}" ${parts.root ?? ROOT}>${parts.before ?? ''}${parts.emisor ?? EMISOR}${parts.receptor ?? RECEPTOR}` +
  `<cfdi:Conceptos>${parts.conceptos ?? ''}</cfdi:Conceptos><cfdi:Complemento>${parts.complemento ?? timbre()}</cfdi:Complemento>` +
  `${parts.after ?? ''}</cfdi:Comprobante>`

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text)
const latin1 = (text: string): Uint8Array => Uint8Array.from(text, (c) => c.charCodeAt(0))
const utf16 = (text: string, littleEndian: boolean): Uint8Array => {
  const bytes = new Uint8Array(text.length * 2)
  const view = new DataView(bytes.buffer)
  for (let i = 0; i < text.length; i++) view.setUint16(i * 2, text.charCodeAt(i), littleEndian)
  return bytes
}
const parse = (text: string): CfdiDocument => parseCfdi(utf8(text))

const refusal = (bytes: Uint8Array): string => {
  try {
    parseCfdi(bytes)
    return 'accepted'
  } catch (error) {
    if (!(error instanceof CfdiRejected)) throw error
    expect(error.message.length).toBeLessThan(160)
    return error.code
  }
}

describe('a document reads the same however it was written', () => {
  const declared = (encoding: string) => `<?xml version="1.0" encoding="${encoding}"?>${cfdi()}`
  const renamed = cfdi().replaceAll('cfdi:', 'x:').replace('xmlns:cfdi', 'xmlns:x').replaceAll('tfd:', 't:').replace('xmlns:tfd', 'xmlns:t')
  const writings: [string, Uint8Array, string[]][] = [
    ['without a declaration', utf8(cfdi()), []],
    ['UTF-8 with a byte order mark', utf8(`\ufeff${declared('UTF-8')}`), []],
    ['UTF-8 with two byte order marks', utf8(`\ufeff\ufeff${declared('UTF-8')}`), ['bom']],
    ['UTF-16, little end first', utf16(`\ufeff${declared('UTF-16')}`, true), []],
    ['UTF-16, big end first', utf16(`\ufeff${declared('UTF-16')}`, false), []],
    ['UTF-16 without a mark', utf16(declared('UTF-16'), true), []],
    ['ISO-8859-1, declared', latin1(declared('ISO-8859-1')), []],
    ['windows-1252, declared', latin1(declared('windows-1252')), []],
    ['windows-1252 that claims to be UTF-8', latin1(declared('UTF-8')), ['encoding_fallback']],
    ['windows-1252 without a declaration', latin1(cfdi()), ['encoding_fallback']],
    ...['ISO-8859-1', 'windows-1252', 'iso-8859-15', 'US-ASCII'].map((encoding): [string, Uint8Array, string[]] => [
      `UTF-8 that claims to be ${encoding}`,
      utf8(declared(encoding)),
      ['encoding_fallback'],
    ]),
    ['UTF-8 that claims to be an encoding nobody knows', utf8(declared('x-none')), ['encoding_fallback']],
    ['a declared UTF-16 that is UTF-8', utf8(declared('UTF-16')), []],
    ['the default namespace', utf8(cfdi().replaceAll('cfdi:', '').replace('xmlns:cfdi', 'xmlns')), []],
    ['other prefixes', utf8(renamed), []],
    ['the prefix declared anew at each child', utf8(cfdi({ emisor: EMISOR.replace('Emisor', `Emisor xmlns:cfdi="${CFD4}"`) })), []],
    ['single quotes', utf8(cfdi().replaceAll('"', "'")), []],
    ['xmlns:schemaLocation', utf8(cfdi({ root: `${ROOT} xmlns:schemaLocation="${CFD4} cfdv40.xsd"` })), []],
    ['junk before and after', utf8(`Subject: su factura\n${declared('UTF-8')}\n-- \nenviado`), ['trimmed_junk']],
    ['white space before the declaration', utf8(`\r\n ${declared('UTF-8')}`), ['trimmed_junk']],
    ['a control character in an attribute', utf8(cfdi({ receptor: RECEPTOR.replace('COMPAÑIA', 'COMP\x0bAÑIA') })), ['control_characters']],
    [
      'a reference to a control character',
      utf8(cfdi({ receptor: RECEPTOR.replace('COMPAÑIA', 'COMP&#x1F;AÑIA') })),
      ['control_characters'],
    ],
    ['a lower-case UUID', utf8(cfdi({ complemento: timbre(UUID.toLowerCase()) })), []],
    ['several Complemento, the stamp in the last', utf8(cfdi({ complemento: `</cfdi:Complemento><cfdi:Complemento>${timbre()}` })), []],
    [
      'a comment and an instruction that hold another document',
      utf8(`<!-- ${cfdi({ complemento: timbre(OTHER) })} --><?x <!DOCTYPE a> ?>${cfdi()}`),
      [],
    ],
    ['two stamps: the first counts', utf8(cfdi({ complemento: timbre() + timbre(OTHER) })), ['several_timbres']],
    ['names of our own objects', utf8(cfdi({ before: '<__proto__ constructor="1" __proto__="2"/><cfdi:constructor/>' })), []],
    [
      'an unknown complement before the stamp',
      utf8(cfdi({ complemento: `<z:TimbreFiscalDigital xmlns:z="urn:z" UUID="${OTHER}"/>${timbre()}` })),
      [],
    ],
  ]
  it.each(writings)('%s', (_, bytes, repairs) => {
    const { complementos: __, ...read } = parseCfdi(bytes)
    const { complementos: ___, ...plain } = parse(cfdi())
    expect(read).toEqual({ ...plain, repairs })
    expect(read).toMatchObject({ uuid: UUID, receptor_nombre: 'COMPAÑIA Ñ', folio: '000123', total: '116.00', pac_rfc: 'SAT970701NN3' })
  })
})

describe('an Addenda is never read', () => {
  const decoy = cfdi({ complemento: timbre(OTHER) })
  const addendas: [string, string, string[]][] = [
    ['another document', decoy, []],
    ['CDATA with markup', `<![CDATA[${decoy}<!DOCTYPE x>]]>`, []],
    ['a prefix that nobody declared', '<zz:a zz:b="1"/>', []],
    ['20,000 levels', '<a>'.repeat(20_000) + '</a>'.repeat(20_000), []],
    ['an element with 2,000 attributes', `<a ${Array.from({ length: 2000 }, (_, i) => `a${i}=""`).join(' ')}/>`, []],
    ['an element with 20,000 attributes', `<a ${Array.from({ length: 20_000 }, (_, i) => `a${i}=""`).join(' ')}/>`, ['addenda_cut']],
    ['an ampersand and a break that is left open', 'Juan & Pedro <br> adiós', ['addenda_cut']],
    ['an end that comes too early', `</cfdi:Addenda></cfdi:Comprobante>${decoy}`, ['addenda_cut']],
    ['300,000 elements', '<a/>'.repeat(300_000), []],
    ['half a million elements', '<a/>'.repeat(500_000), ['addenda_cut']],
    ['a control character', 'x\x01y', ['addenda_cut']],
  ]
  it.each(addendas)('%s', (_, content, repairs) => {
    const read = parse(cfdi({ after: `<cfdi:Addenda>${content}</cfdi:Addenda>` }))
    expect(read).toEqual({ ...parse(cfdi()), has_addenda: true, repairs })
  })

  it('is passed over in steps, between which others go on', () => {
    const steps = parsingCfdi(utf8(cfdi({ after: `<cfdi:Addenda>${'<a b="c"/><!---->'.repeat(50_000)}</cfdi:Addenda>` })), null)
    let count = 0
    while (!steps.next().done) count++
    expect(count).toBeGreaterThan(10)
  })

  it('stays where the junk is elsewhere', () => {
    const document = `${cfdi({ after: '<cfdi:Addenda><a/></cfdi:Addenda>' })}\n-- `
    expect(parse(document)).toMatchObject({ uuid: UUID, has_addenda: true, repairs: ['trimmed_junk'] })
  })

  it('is cut where the file ends inside it', () => {
    expect(parse(cfdi({ after: '<cfdi:Addenda><a>' }).replace('</cfdi:Comprobante>', ''))).toMatchObject({
      uuid: UUID,
      repairs: ['addenda_cut'],
    })
  })

  it('a TimbreFiscalDigital that is not right under a top-level Complemento is no stamp', () => {
    expect(parse(cfdi({ complemento: `<a>${timbre(OTHER)}</a>` })).uuid).toBeNull()
    expect(
      parse(cfdi({ complemento: '', conceptos: `<cfdi:Concepto><cfdi:Complemento>${timbre(OTHER)}</cfdi:Complemento></cfdi:Concepto>` }))
        .uuid,
    ).toBeNull()
  })
})

describe('what is no CFDI is refused, with the reason', () => {
  const bomb = `<!DOCTYPE a [<!ENTITY l0 "lol">${Array.from({ length: 9 }, (_, i) => `<!ENTITY l${i + 1} "${`&l${i};`.repeat(10)}">`).join('')}]>`
  const many = (n: number) => Array.from({ length: n }, (_, i) => `a${i}="1"`).join(' ')
  const refused: [string, string | Uint8Array, string][] = [
    ['an empty file', '', 'cfdi.empty'],
    ['a byte order mark alone', '\ufeff', 'cfdi.empty'],
    ['a web page', '<!DOCTYPE html><html><body>Servicio no disponible<br></body></html>', 'cfdi.html'],
    ['a web page without a DOCTYPE', '<html><body/></html>', 'cfdi.html'],
    ['an entity bomb', `<?xml version="1.0"?><!-- x -->${bomb}${cfdi()}`, 'cfdi.doctype'],
    ['an external entity', `<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>${cfdi()}`, 'cfdi.doctype'],
    ['a DOCTYPE behind junk', `junk <!DOCTYPE a []>${cfdi()}`, 'cfdi.doctype'],
    ['a duplicate attribute', cfdi({ root: `${ROOT} Version="4.0"` }), 'cfdi.malformed'],
    ['a document cut short', cfdi().slice(0, 400), 'cfdi.malformed'],
    ['two documents in one', cfdi() + cfdi(), 'cfdi.malformed'],
    ['an entity of its own', cfdi({ emisor: EMISOR.replace('NORTE', '&norte;') }), 'cfdi.malformed'],
    ['something else', '<a/>', 'cfdi.not_a_cfdi'],
    ['a prefix without its namespace', '<cfdi:Comprobante Version="4.0"/>', 'cfdi.not_a_cfdi'],
    ...['Emisor Rfc="EKU9003173C9"', 'Conceptos', 'Impuestos TotalImpuestosTrasladados="16"', 'Complemento'].map(
      (element): [string, string, string] => [
        `a prefix without its namespace on ${element.split(' ')[0]}`,
        cfdi({ after: `<nadie:${element}/>` }),
        'cfdi.malformed',
      ],
    ),
    ['a prefix without its namespace on a stamp', cfdi({ complemento: timbre().replace(/ xmlns:tfd="[^"]*"/, '') }), 'cfdi.malformed'],
    [
      'a prefix without its namespace on a tax of a line',
      cfdi({ conceptos: '<cfdi:Concepto><cfdi:Impuestos><cfdi:Traslados><x:Traslado/></cfdi:Traslados></cfdi:Impuestos></cfdi:Concepto>' }),
      'cfdi.malformed',
    ],
    ['two Receptores', cfdi({ receptor: RECEPTOR + RECEPTOR.replace('URE180429TM6', 'XAXX010101000') }), 'cfdi.repeated_element'],
    ['two Emisores', cfdi({ emisor: EMISOR + EMISOR }), 'cfdi.repeated_element'],
    ['two Conceptos', cfdi({ after: '<cfdi:Conceptos/>' }), 'cfdi.repeated_element'],
    ['two Impuestos of the document', cfdi({ after: '<cfdi:Impuestos/><cfdi:Impuestos/>' }), 'cfdi.repeated_element'],
    ['two InformacionGlobal', cfdi({ before: '<cfdi:InformacionGlobal/><cfdi:InformacionGlobal/>' }), 'cfdi.repeated_element'],
    ['a year before 2004', cfdi({ root: ROOT.replace('2025', '2003') }), 'cfdi.invalid_date'],
    ['a year after 2100', cfdi({ root: ROOT.replace('2025', '2101') }), 'cfdi.invalid_date'],
    ['a year with five digits', cfdi({ root: ROOT.replace('2025', '20250') }), 'cfdi.invalid_date'],
    ["a namespace that is not the authority's", cfdi().replace(CFD4, 'http://example.com/cfd/4'), 'cfdi.not_a_cfdi'],
    ['CFD 2.2', '<Comprobante xmlns="http://www.sat.gob.mx/cfd/2" version="2.2"/>', 'cfdi.unknown_version'],
    ['a version to come', cfdi({ root: ROOT.replace('4.0', '5.0') }), 'cfdi.unknown_version'],
    ['3.3 in the namespace of 4.0', cfdi({ root: ROOT.replace('4.0', '3.3') }), 'cfdi.unknown_version'],
    ['no Emisor', cfdi({ emisor: '' }), 'cfdi.incomplete'],
    ['no Receptor', cfdi({ receptor: '' }), 'cfdi.incomplete'],
    ['an Emisor of another namespace', cfdi({ emisor: '<Emisor Rfc="EKU9003173C9"/>' }), 'cfdi.incomplete'],
    ['no Fecha', cfdi({ root: ROOT.replace('Fecha=', 'fecha=') }), 'cfdi.incomplete'],
    ['no Total', cfdi({ root: ROOT.replace(' Total', ' total') }), 'cfdi.incomplete'],
    ['an RFC that is none', cfdi({ emisor: '<cfdi:Emisor Rfc="EKU90"/>' }), 'cfdi.invalid_rfc'],
    ['a UUID that is none', cfdi({ complemento: timbre('123') }), 'cfdi.invalid_uuid'],
    ['a day that does not exist', cfdi({ root: ROOT.replace('02-03', '02-30') }), 'cfdi.invalid_date'],
    ['a date without a time', cfdi({ root: ROOT.replace('T10:00:00', '') }), 'cfdi.invalid_date'],
    ...['1e400', '0x1F', 'NaN', '1,000.00', '$5', '1.2.3', '.', '-', '9'.repeat(41), 'Infinity', '١'].map(
      (value): [string, string, string] => [`a total of ${value}`, cfdi({ root: ROOT.replace('116.00', value) }), 'cfdi.invalid_amount'],
    ),
    ['65 levels', cfdi({ before: '<a>'.repeat(64) + '</a>'.repeat(64) }), 'cfdi.too_deep'],
    ['a hundred thousand levels', cfdi({ before: '<a>'.repeat(100_000) }), 'cfdi.too_deep'],
    ['a hundred thousand attributes', cfdi({ before: `<a ${many(100_000)}/>` }), 'cfdi.too_complex'],
    ['half a million siblings', cfdi({ before: '<a/>'.repeat(500_000) }), 'cfdi.too_complex'],
    ['more than 10 MiB', new Uint8Array(10 * 1024 * 1024 + 1), 'cfdi.too_large'],
    ['10 MiB of zeros', new Uint8Array(10 * 1024 * 1024), 'cfdi.malformed'],
    ['4 MiB of zeros', new Uint8Array(4 * 1024 * 1024), 'cfdi.malformed'],
    ['4 MiB of opening brackets', '<'.repeat(4 * 1024 * 1024), 'cfdi.malformed'],
    ['random bytes', Uint8Array.from({ length: 5000 }, (_, i) => (i * 7919) % 251), 'cfdi.malformed'],
  ]
  it.each(refused)('%s', (_, document, code) => {
    expect(refusal(typeof document === 'string' ? utf8(document) : document)).toBe(code)
    expect(parse(cfdi()).uuid).toBe(UUID)
  })

  it('a Fecha of 2004 or 2100 is read, and another year is the reason of its refusal', () => {
    for (const fecha of ['2004-01-01T00:00:00', '2100-12-31T23:59:59'])
      expect(parse(cfdi({ root: ROOT.replace('2025-02-03T10:00:00', fecha) })).fecha).toBe(fecha)
    expect(() => parse(cfdi({ root: ROOT.replace('2025', '1970') }))).toThrow('Fecha is not in the years 2004 to 2100.')
  })

  it('a prefix without its namespace changes nothing on an element that is not read', () => {
    const read = parse(cfdi({ before: '<nadie:Otro><nadie:Emisor Rfc="x"/></nadie:Otro>' }))
    expect(read).toEqual(parse(cfdi()))
  })

  it('a refusal shows nothing of the document', () => {
    for (const document of [
      cfdi({ emisor: EMISOR.replace('EKU9003173C9', 'SECRET') }),
      `${cfdi()}<SECRET/>`,
      cfdi({ before: '&SECRET;' }),
    ]) {
      expect(() => parse(document)).toThrow(/^(?!.*SECRET)/)
    }
  })

  it.each(['&#9;', '&lt;', '\t', '\n', '\r\n', 'a\t', 'a  '])('megabytes of %j are read', (unit) => {
    const much = unit.repeat(5_000_000 / unit.length)
    const emisor = EMISOR.replace(/ Nombre="[^"]*"/, () => ` Nombre="x${much}x"`)
    const read = parse(cfdi({ emisor, conceptos: `<cfdi:Concepto Descripcion="${much}x"/>` }))
    expect([read.emisor_nombre?.slice(-1), read.conceptos[0]?.descripcion?.slice(-1)]).toEqual(['x', 'x'])
  })
})

describe('attributes', () => {
  it('are trimmed and collapsed; those of a line keep what is inside', () => {
    const read = parse(
      cfdi({
        root: ROOT.replace('"4.0"', '" 4.0  "').replace('"116.00"', '" 116.00\n"'),
        emisor: '<cfdi:Emisor Rfc="  eku9003173c9 " Nombre=" DEL \n\t NORTE "/>',
        conceptos: `<cfdi:Concepto Descripcion=" uno&#10;dos\ntres   &amp; &lt;x&gt; &quot;q&quot; " NoIdentificacion="0x1F"/>`,
      }),
    )
    expect(read).toMatchObject({ version: '4.0', total: '116.00', emisor_rfc: 'EKU9003173C9', emisor_nombre: 'DEL NORTE' })
    expect(read.conceptos[0]).toMatchObject({ descripcion: 'uno\ndos tres   & <x> "q"', no_identificacion: '0x1F' })
  })

  it.each(['4.0', '3.2'])('each text of a line of %s stays as it is stated, but for white space around it', (version) => {
    const old = version === '3.2'
    const names = {
      ...{ no_identificacion: 'NoIdentificacion', unidad: 'Unidad', descripcion: 'Descripcion' },
      ...(!old && { clave_prod_serv: 'ClaveProdServ', clave_unidad: 'ClaveUnidad', objeto_imp: 'ObjetoImp' }),
    }
    const attributes = Object.values(names).map((name) => `${old ? name[0]!.toLowerCase() + name.slice(1) : name}="  A  1&#9;${name}\n "`)
    const [pedimento, predial] = old ? ['numero', 'numero'] : ['NumeroPedimento', 'Numero']
    const document = cfdi({
      conceptos:
        `<cfdi:Concepto ${attributes.join(' ')}><cfdi:InformacionAduanera ${pedimento}=" 15  48  3009  0001234 "/>` +
        `<cfdi:CuentaPredial ${predial}=" 12  A "/></cfdi:Concepto>`,
      ...(old && {
        ...{ root: 'version="3.2" fecha="2015-02-03T10:00:00" total="116.00" tipoDeComprobante="ingreso"' },
        ...{ emisor: '<cfdi:Emisor rfc="EKU9003173C9"/>', receptor: '<cfdi:Receptor rfc="XAXX010101000"/>' },
      }),
    })
    const read = parse(old ? document.replace(CFD4, 'http://www.sat.gob.mx/cfd/3') : document)
    const expected = Object.fromEntries(Object.entries(names).map(([member, name]) => [member, `A  1\t${name}`]))
    expect(read.conceptos[0]).toMatchObject({ ...expected, pedimentos: ['15  48  3009  0001234'], cuenta_predial: ['12  A'] })
  })

  it('any white space around an attribute changes nothing', () => {
    const space = fc.stringMatching(/^[ \t\n\r]{0,5}$/)
    fc.assert(
      fc.property(space, space, (left, right) => {
        const padded = (name: string) => (text: string) =>
          text.replace(new RegExp(`\\b${name}="([^"]*)"`), `${left} ${name} = "${left}$1${right}"`)
        const root = ['Version', 'Folio', 'Fecha', 'Total'].reduce((text, name) => padded(name)(text), ROOT)
        expect(parse(cfdi({ root, receptor: padded('Rfc')(padded('Nombre')(RECEPTOR)) }))).toEqual(parse(cfdi()))
      }),
    )
  })

  it.each(['0', '116', '116.', '.5', '+12.50', '116.000000', '9007199254740993', '999999999999999999.999999', '9'.repeat(25)])(
    'the amount %s stays as written',
    (value) => {
      expect(parse(cfdi({ root: ROOT.replace('116.00', value) }))).toMatchObject({ total: value, repairs: [] })
    },
  )

  it.each(['-12.50', '-0.000001', ' -999999999999999999.99'])('the Total %s is kept, and the document says so', (value) => {
    expect(parse(cfdi({ root: ROOT.replace('116.00', value) }))).toMatchObject({ total: value.trim(), repairs: ['negative_total'] })
  })

  it('text comes back as it was, whatever it holds', () => {
    const escaped = (text: string) => text.replace(/[&<>"'\n\r\t]/g, (c) => `&#${c.charCodeAt(0)};`)
    const free = fc.string({ unit: 'grapheme' }).filter((text) => !/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/.test(text))
    fc.assert(
      fc.property(free, (text) => {
        const read = parse(cfdi({ conceptos: `<cfdi:Concepto Descripcion="${escaped(text)}"/>` }))
        expect(read.conceptos[0]?.descripcion).toBe(text.trim() || null)
      }),
    )
  })

  it('nothing that is thrown at it makes it fail in another way than a refusal', () => {
    const document = utf8(cfdi({ after: '<cfdi:Addenda><a b="c"/></cfdi:Addenda>' }))
    fc.assert(
      fc.property(fc.nat(document.length - 1), fc.uint8Array({ maxLength: 4 }), fc.nat(6), (at, bytes, removed) => {
        refusal(Uint8Array.from([...document.subarray(0, at), ...bytes, ...document.subarray(at + removed)]))
      }),
      { numRuns: 500 },
    )
  })
})

/** What breaks without it: a document of 150,000 taxes is 13 MB of JSON, which holds everybody up while it is made and stored. */
describe('a document has at most 60,000 parts, and so has each of its lines', () => {
  const traslados = (count: number) =>
    `<cfdi:Impuestos><cfdi:Traslados>${'<cfdi:Traslado/>'.repeat(count)}</cfdi:Traslados></cfdi:Impuestos>`
  const line = (inside: string) => `<cfdi:Concepto>${inside}</cfdi:Concepto>`
  const pagos = (inside: string) =>
    `${timbre()}<p:Pagos xmlns:p="http://www.sat.gob.mx/Pagos20" Version="2.0"><p:Pago FechaPago="2026-01-01T00:00:00">${inside}</p:Pago></p:Pagos>`
  const docto = (taxes: number) =>
    `<p:DoctoRelacionado><p:ImpuestosDR><p:TrasladosDR>${'<p:TrasladoDR/>'.repeat(taxes)}</p:TrasladosDR></p:ImpuestosDR></p:DoctoRelacionado>`

  it.each([
    ['taxes', (n: number) => cfdi({ after: traslados(n - 1) })],
    ['taxes of a line', (n: number) => cfdi({ conceptos: line(traslados(n)) })],
    ['numbers of a line', (n: number) => cfdi({ conceptos: line('<cfdi:CuentaPredial Numero="1"/>'.repeat(n)) })],
    ['complements', (n: number) => cfdi({ complemento: `${timbre()}${'<z/>'.repeat(n - 1)}` })],
    ['taxes of what is paid', (n: number) => cfdi({ complemento: pagos(docto(n - 3)) })],
  ] as const)('%s', (_, of) => {
    expect(refusal(utf8(of(60_000)))).toBe('accepted')
    expect(refusal(utf8(of(60_001)))).toBe('cfdi.too_complex')
  })

  it('those of one line are not those of the next', () => {
    expect(refusal(utf8(cfdi({ conceptos: line(traslados(30_000)).repeat(3) })))).toBe('accepted')
  })
})

describe('4.0 and 3.3', () => {
  const full = cfdi({
    root: `${ROOT} Exportacion="01" MetodoPago="PPD" FormaPago="99" TipoCambio="1" LugarExpedicion="01000" Sello="${'A'.repeat(300)}QWER\nTY=="`,
    before:
      '<cfdi:InformacionGlobal Periodicidad="04" Meses="02" Año="2025"/>' +
      `<cfdi:CfdiRelacionados TipoRelacion="04"><cfdi:CfdiRelacionado UUID="${OTHER.toLowerCase()}"/></cfdi:CfdiRelacionados>` +
      `<cfdi:CfdiRelacionados TipoRelacion="07"><cfdi:CfdiRelacionado UUID="${UUID}"/></cfdi:CfdiRelacionados>`,
    conceptos:
      '<cfdi:Concepto ClaveProdServ="84111506" Cantidad="1" Importe="100" ObjetoImp="02"><cfdi:Impuestos><cfdi:Traslados>' +
      '<cfdi:Traslado Base="100" Impuesto="002" TipoFactor="Tasa" TasaOCuota="0.160000" Importe="16.00"/></cfdi:Traslados></cfdi:Impuestos>' +
      '<cfdi:ACuentaTerceros RfcACuentaTerceros="AAA010101AAA"/><cfdi:InformacionAduanera NumeroPedimento="10  47  3807  8003832"/>' +
      '<cfdi:CuentaPredial Numero="15956011002"/><cfdi:Parte><cfdi:InformacionAduanera NumeroPedimento="no"/></cfdi:Parte></cfdi:Concepto>',
    complemento:
      '<implocal:ImpuestosLocales xmlns:implocal="http://www.sat.gob.mx/implocal" version="1.0" TotaldeRetenciones="2" TotaldeTraslados="6">' +
      '<implocal:RetencionesLocales ImpLocRetenido="5 al millar" TasadeRetencion="0.50" Importe="1"/>' +
      '<implocal:TrasladosLocales ImpLocTrasladado="ISH" TasadeTraslado="3.00" Importe="6"/>' +
      `<implocal:RetencionesLocales ImpLocRetenido="Cedular" TasadeRetencion="1" Importe="1"/></implocal:ImpuestosLocales>${timbre()}`,
    after:
      '<cfdi:Impuestos TotalImpuestosTrasladados="16.00" TotalImpuestosRetenidos="10"><cfdi:Retenciones><cfdi:Retencion Impuesto="001" Importe="10"/>' +
      '</cfdi:Retenciones><cfdi:Traslados><cfdi:Traslado Base="100" Impuesto="002" TipoFactor="Exento"/></cfdi:Traslados></cfdi:Impuestos>',
  })

  it('every part is read', () => {
    expect(parse(full)).toMatchObject({
      metodo_pago: 'PPD',
      forma_pago: '99',
      lugar_expedicion: '01000',
      sello_ultimos_8: 'QWERTY==',
      informacion_global: { periodicidad: '04', meses: '02', anio: '2025' },
      relacionados: [
        { tipo_relacion: '04', uuid: OTHER },
        { tipo_relacion: '07', uuid: UUID },
      ],
      conceptos: [
        {
          impuestos: { traslados: [{ impuesto: '002', tipo_factor: 'Tasa', tasa_o_cuota: '0.160000', base: '100', importe: '16.00' }] },
          a_cuenta_terceros_rfc: 'AAA010101AAA',
          pedimentos: ['10  47  3807  8003832'],
          cuenta_predial: ['15956011002'],
        },
      ],
      impuestos: {
        total_trasladados: '16.00',
        total_retenidos: '10',
        traslados: [{ tipo_factor: 'Exento', tasa_o_cuota: null, importe: null }],
        retenciones: [{ impuesto: '001', base: null, importe: '10' }],
      },
      impuestos_locales: {
        traslados: [{ nombre: 'ISH', tasa: '3.00', importe: '6' }],
        retenciones: [{ importe: '1' }, { nombre: 'Cedular' }],
      },
      complementos: ['ImpuestosLocales:1.0', 'TimbreFiscalDigital:1.1'],
    })
  })

  it('3.3 has the same attributes in the namespace of 3', () => {
    const old = parse(full.replace(CFD4, 'http://www.sat.gob.mx/cfd/3').replace('Version="4.0"', 'Version="3.3"'))
    expect(old).toEqual({ ...parse(full), version: '3.3' })
  })

  it('an unknown value of a catalogue is data', () => {
    expect(parse(cfdi({ root: ROOT.replace('"I"', '"Z"').replace('MXN', 'qqq') }))).toMatchObject({
      tipo_comprobante: 'Z',
      currency: 'QQQ',
    })
  })
})

describe('3.2', () => {
  const old = (formaDePago: string): CfdiDocument =>
    parse(
      `<cfdi:Comprobante xmlns:cfdi="http://www.sat.gob.mx/cfd/3" version="3.2" serie="S" folio="1" fecha="2015-02-03T10:00:00" total="116.00" ` +
        `subTotal="100.00" tipoDeComprobante="Egreso" formaDePago="${formaDePago}" metodoDePago="04" TipoCambio="peso" Moneda="MXN">` +
        '<cfdi:Emisor rfc="EKU9003173C9" nombre="A"><cfdi:RegimenFiscal Regimen="REGIMEN GENERAL"/><cfdi:RegimenFiscal Regimen="OTRO"/></cfdi:Emisor>' +
        '<cfdi:Receptor rfc="XAXX010101000"/><cfdi:Conceptos><cfdi:Concepto cantidad="1" descripcion="x" valorUnitario="100" importe="100.00">' +
        '<cfdi:InformacionAduanera numero="77"/><cfdi:CuentaPredial numero="9"/></cfdi:Concepto></cfdi:Conceptos>' +
        '<cfdi:Impuestos totalImpuestosTrasladados="16.00"><cfdi:Retenciones><cfdi:Retencion impuesto="isr" importe="1"/></cfdi:Retenciones>' +
        '<cfdi:Traslados><cfdi:Traslado impuesto="IVA" tasa="16.00" importe="16.00"/><cfdi:Traslado impuesto="ISH" tasa="3" importe="3"/>' +
        `</cfdi:Traslados></cfdi:Impuestos><cfdi:Complemento><t:TimbreFiscalDigital xmlns:t="${TFD}" version="1.0" UUID="${UUID}"/></cfdi:Complemento></cfdi:Comprobante>`,
    )

  it('is read in the terms of the later versions', () => {
    expect(old('Pago en una sola exhibición')).toMatchObject({
      tipo_comprobante: 'E',
      forma_pago: '04',
      metodo_pago: 'PUE',
      tipo_cambio: null,
      emisor_regimen_fiscal: 'REGIMEN GENERAL',
      impuestos: {
        total_trasladados: '16.00',
        total_retenidos: null,
        traslados: [
          { impuesto: '002', tipo_factor: 'Tasa', tasa_o_cuota: '0.160000', importe: '16.00' },
          { impuesto: 'ISH', tasa_o_cuota: '0.030000' },
        ],
        retenciones: [{ impuesto: '001', tasa_o_cuota: null, importe: '1' }],
      },
      conceptos: [{ descripcion: 'x', pedimentos: ['77'], cuenta_predial: ['9'] }],
      complementos: ['TimbreFiscalDigital:1.0'],
    })
  })

  it.each([
    ['PAGO EN UNA SOLA EXHIBICION', 'PUE'],
    ['Pago en una exhibición', 'PUE'],
    ['Pago en parcialidades', 'PPD'],
    ['Parcialidad 1 de 3', 'PPD'],
    ['No identificado', null],
  ])('%s is %s', (words, metodo) => {
    expect(old(words).metodo_pago).toBe(metodo)
  })
})

describe('currencies and payroll of 3.2', () => {
  const old = (root: string, complemento = '') =>
    parse(
      `<cfdi:Comprobante xmlns:cfdi="http://www.sat.gob.mx/cfd/3" version="3.2" fecha="2015-02-03T10:00:00" total="116.00" ${root}>` +
        '<cfdi:Emisor rfc="EKU9003173C9"/><cfdi:Receptor rfc="XAXX010101000"/><cfdi:Conceptos/>' +
        `<cfdi:Complemento>${complemento}${timbre()}</cfdi:Complemento></cfdi:Comprobante>`,
    )

  // The words that only Mexico's pesos have, whatever rate they come with; pesos alone without another sign, which is a rate that is not 1.
  const words: [string, string, string][] = [
    ...[
      ...['MXN', 'mxn', 'MXP', 'MN', 'M.N.', 'm.n', 'M. N.', 'Peso Mexicano', 'Pesos mexicanos', 'PESOS MXN', 'Pesos (MXN)', 'Pesos M.N.'],
      ...['Moneda Nacional', 'MONEDA NACIONAL (PESOS)', 'MXN Peso Mexicano', 'México Pesos', '$ MXN', 'Peso  Mexicano', 'MX'],
    ].flatMap((moneda) => ['', 'TipoCambio="1.00"', 'TipoCambio="12.85"'].map((rate): [string, string, string] => [moneda, rate, 'MXN'])),
    ...['Pesos', 'PESOS', 'peso', '$', 'Nuevos Pesos'].flatMap((moneda) =>
      ['', 'TipoCambio="1"', 'TipoCambio="1.000000"', 'TipoCambio="0"', 'TipoCambio="pesos"'].map((rate): [string, string, string] => [
        moneda,
        rate,
        'MXN',
      ]),
    ),
    ['Pesos', 'TipoCambio="0.0067"', 'PESOS'],
    ['Pesos Colombianos', '', 'PESOS COLOMBIANOS'],
    ['Peso argentino', 'TipoCambio="1"', 'PESO ARGENTINO'],
    ['COP', '', 'COP'],
    ['MXV', '', 'MXV'],
    ['Moneda', '', 'MONEDA'],
    ['USD', 'TipoCambio="13.5"', 'USD'],
    ['Dólares', 'TipoCambio="13.5"', 'USD'],
    ['DOLAR AMERICANO', '', 'USD'],
    ['Dlls.', '', 'USD'],
    ['Dólares canadienses', '', 'DÓLARES CANADIENSES'],
    ['Euros', '', 'EUROS'],
  ]
  it.each(words)('%s %s is %s', (moneda, rate, currency) => {
    expect(old(`Moneda="${moneda}" ${rate}`).currency).toBe(currency)
  })

  it('what states no currency stays without one', () => {
    expect(old('').currency).toBeNull()
  })

  it('words of later versions are not understood, because these have a catalogue', () => {
    expect(parse(cfdi({ root: ROOT.replace('MXN', 'Pesos') })).currency).toBe('PESOS')
  })

  // 3.2 has no type for payroll. Both versions of Nómina were used in it.
  it.each(['nomina" Version="1.1', 'nomina12" Version="1.2'])('an egreso with xmlns "%s" is payroll', (nomina) => {
    const complement = `<n:Nomina xmlns:n="http://www.sat.gob.mx/${nomina}"/>`
    expect(old('tipoDeComprobante="egreso"', complement).tipo_comprobante).toBe('N')
    expect(old('tipoDeComprobante="egreso"').tipo_comprobante).toBe('E')
    expect(old('tipoDeComprobante="ingreso"', complement).tipo_comprobante).toBe('I')
    expect(parse(cfdi({ root: ROOT.replace('"I"', '"E"'), complemento: complement })).tipo_comprobante).toBe('E')
  })
})

describe('pagos', () => {
  const docto = (rest: string) => `<p:DoctoRelacionado IdDocumento="${OTHER.toLowerCase()}" MonedaDR="MXN" ${rest}`
  const pagos = (namespace: string, version: string, doctos: string) =>
    parse(
      cfdi({
        complemento: `<p:Pagos xmlns:p="http://www.sat.gob.mx/${namespace}" Version="${version}"><p:Pago FechaPago="2025-03-01T12:00:00" FormaDePagoP="03" MonedaP="USD" TipoCambioP="20" Monto="100.00">${doctos}</p:Pago></p:Pagos>${timbre()}`,
      }),
    ).pagos

  it('2.0: documents, equivalence and taxes', () => {
    const taxes =
      '<p:ImpuestosDR><p:TrasladosDR><p:TrasladoDR BaseDR="1" ImpuestoDR="002" TipoFactorDR="Tasa" TasaOCuotaDR="0.080000" ImporteDR="0.08"/></p:TrasladosDR></p:ImpuestosDR>'
    const read = pagos(
      'Pagos20',
      '2.0',
      `${docto('EquivalenciaDR="19.1234567890" NumParcialidad="1" ImpPagado="1.5" ObjetoImpDR="02">')}${taxes}</p:DoctoRelacionado>`,
    )
    expect(read).toMatchObject([
      {
        fecha_pago: '2025-03-01T12:00:00',
        moneda_p: 'USD',
        documentos: [
          {
            uuid: OTHER,
            equivalencia_dr: '19.1234567890',
            imp_pagado: '1.5',
            impuestos_dr: { traslados: [{ tasa_o_cuota: '0.080000', importe: '0.08' }] },
          },
        ],
      },
    ])
  })

  it('1.0: what is not said of a single document is the whole payment', () => {
    const paid = (doctos: string) => pagos('Pagos', '1.0', doctos)[0]?.documentos.map(({ imp_pagado }) => imp_pagado)
    const dollars = (rest: string) => docto(rest).replace('"MXN"', '" usd "')
    expect(paid(dollars('MetodoDePagoDR="PPD"/>'))).toEqual(['100.00'])
    // 100 USD are not 100 MXN, and the complement states no rate between them.
    expect(paid(docto('MetodoDePagoDR="PPD"/>'))).toEqual([null])
    expect(paid(docto('ImpPagado="7"/>'))).toEqual(['7'])
    expect(paid(docto('TipoCambioDR="20"/>'))).toEqual([null])
    expect(paid(docto('/>') + docto('/>'))).toEqual([null, null])
    expect(paid('')).toEqual([])
  })
})

describe('nómina', () => {
  it('1.2: worker, totals and the ISR withheld in all its lines', () => {
    const nomina =
      '<n:Nomina xmlns:n="http://www.sat.gob.mx/nomina12" Version="1.2" TipoNomina="O" FechaPago="2025-02-15" NumDiasPagados="15.000" TotalPercepciones="10" TotalDeducciones="3">' +
      '<n:Receptor Curp="xexx010101hnexxxa4" NumEmpleado="007" Antigüedad="P54W" TipoContrato="01"/><n:Percepciones TotalGravado="8" TotalExento="2.00"/>' +
      '<n:Deducciones><n:Deduccion TipoDeduccion="001" Importe="1"/><n:Deduccion TipoDeduccion="002" Importe="1.50"/><n:Deduccion TipoDeduccion="002" Importe=".5"/></n:Deducciones></n:Nomina>'
    expect(parse(cfdi({ complemento: nomina + nomina })).nominas).toMatchObject([
      {
        version: '1.2',
        num_empleado: '007',
        antiguedad: 'P54W',
        curp: 'XEXX010101HNEXXXA4',
        total_gravado: '8',
        total_exento: '2.00',
        isr_retenido: '2.00',
      },
      { isr_retenido: '2.00' },
    ])
  })

  it('1.1: the worker is on the root', () => {
    const nomina =
      '<n:Nomina xmlns:n="http://www.sat.gob.mx/nomina" Version="1.1" NumEmpleado="7" CURP="XEXX010101HNEXXXA4" Antiguedad="3" NumDiasPagados="15">' +
      '<n:Deducciones><n:Deduccion TipoDeduccion="002" ImporteGravado="1.00" ImporteExento="0.25"/></n:Deducciones></n:Nomina>'
    expect(parse(cfdi({ complemento: nomina })).nominas).toMatchObject([
      { version: '1.1', num_empleado: '7', antiguedad: '3', isr_retenido: '1.25' },
    ])
  })
})

describe('a complement of a version that is not known', () => {
  const versions: [string, string, string, string[]][] = [
    ['nomina', 'Version="1.1"', '1.1', []],
    ['nomina', 'Version="1.0"', '1.0', ['unknown_version']],
    ['nomina', 'Version="1.2"', '1.2', ['unknown_version']],
    ['nomina12', 'Version=" 1.2 "', '1.2', []],
    ['nomina12', 'Version="1.3"', '1.3', ['unknown_version']],
  ]
  it.each(versions)('a Nómina of %s that states %s is of %s', (namespace, stated, version, repairs) => {
    const nomina = `<n:Nomina xmlns:n="http://www.sat.gob.mx/${namespace}" ${stated} NumDiasPagados="15"/>`
    expect(parse(cfdi({ complemento: nomina }))).toMatchObject({ nominas: [{ version, num_dias_pagados: '15' }], repairs })
  })

  it('a Nómina that states none is of none', () => {
    const read = parse(cfdi({ complemento: '<n:Nomina xmlns:n="http://www.sat.gob.mx/nomina"/>' }))
    expect(read).toMatchObject({ nominas: [{ version: null }], repairs: ['unknown_version'] })
  })

  it.each(['Nomina', 'Pagos'])('%s of another namespace is not read, and said not to be', (name) => {
    const read = parse(cfdi({ complemento: `<n:${name} xmlns:n="http://www.sat.gob.mx/${name}30" Version="3.0"/>${timbre()}` }))
    expect(read).toMatchObject({
      uuid: UUID,
      nominas: [],
      pagos: [],
      repairs: ['unknown_version'],
      complementos: [`${name}:3.0`, 'TimbreFiscalDigital:1.1'],
    })
  })

  it('payments of another version are read and said to be', () => {
    const of = (version: string) =>
      `<p:Pagos xmlns:p="http://www.sat.gob.mx/Pagos20" Version="${version}"><p:Pago FechaPago="2025-03-01T12:00:00" Monto="1"/></p:Pagos>`
    expect(parse(cfdi({ complemento: of('2.0') }))).toMatchObject({ pagos: [{ monto: '1' }], repairs: [] })
    expect(parse(cfdi({ complemento: of('3.0') }))).toMatchObject({ pagos: [{ monto: '1' }], repairs: ['unknown_version'] })
  })
})

describe('retenciones', () => {
  const stamp = `<r:Complemento>${timbre()}</r:Complemento>`
  it('2.0', () => {
    const read = parse(
      `<r:Retenciones xmlns:r="http://www.sat.gob.mx/esquemas/retencionpago/2" Version="2.0" FolioInt="9" FechaExp="2025-01-02T03:04:05" CveRetenc="26" LugarExpRetenc="03810">` +
        `<r:CfdiRetenRelacionados TipoRelacion="01" UUID="${OTHER}"/><r:Emisor RfcE="EKU9003173C9" NomDenRazSocE="E" RegimenFiscalE="601"/>` +
        '<r:Receptor NacionalidadR="Nacional"><r:Nacional RfcR="URE180429TM6" NomDenRazSocR="R" DomicilioFiscalR="86991"/></r:Receptor>' +
        '<r:Periodo MesIni="01" MesFin="02" Ejercicio="2025"/><r:Totales MontoTotOperacion="10" MontoTotGrav="9" MontoTotExent="1" MontoTotRet="0.5">' +
        `<r:ImpRetenidos BaseRet="9" ImpuestoRet="001" MontoRet="0.5" TipoPagoRet="01"/></r:Totales>${stamp}</r:Retenciones>`,
    )
    expect(read).toMatchObject({
      kind: 'retenciones',
      uuid: UUID,
      folio: '9',
      total: null,
      tipo_comprobante: null,
      receptor_rfc: 'URE180429TM6',
      relacionados: [{ tipo_relacion: '01', uuid: OTHER }],
      retencion: {
        clave: '26',
        mes_final: '02',
        ejercicio: '2025',
        monto_total_retenido: '0.5',
        impuestos: [{ base: '9', impuesto: '001', monto: '0.5', tipo_pago: '01' }],
      },
    })
  })

  it('1.0, with its own names, an offset and a foreign receiver', () => {
    const read = parse(
      `<r:Retenciones xmlns:r="http://www.sat.gob.mx/esquemas/retencionpago/1" Version="1.0" FechaExp="2021-01-02T03:04:05-06:00" CveRetenc="14" NumCert="30">` +
        '<r:Emisor RFCEmisor="EKU9003173C9"/><r:Receptor Nacionalidad="Extranjero"><r:Extranjero NumRegIdTrib="99" NomDenRazSocR="WW"/></r:Receptor>' +
        `<r:Periodo MesIni="1" MesFin="1" Ejerc="2021"/><r:Totales montoTotOperacion="10" montoTotGrav="9" montoTotExent="1" montoTotRet="2"/>${stamp}</r:Retenciones>`,
    )
    expect(read).toMatchObject({
      fecha: '2021-01-02T03:04:05',
      receptor_rfc: 'XEXX010101000',
      receptor_num_reg_id_trib: '99',
      no_certificado: '30',
      retencion: { nacionalidad_receptor: 'Extranjero', ejercicio: '2021', monto_total_operacion: '10' },
      utc_offset: -360,
    })
  })

  it('of two receivers are refused, whether they are of one kind or of both', () => {
    const of = (receivers: string, receptor = `<r:Receptor>${receivers}</r:Receptor>`) =>
      utf8(
        `<r:Retenciones xmlns:r="http://www.sat.gob.mx/esquemas/retencionpago/1" Version="1.0" FechaExp="2021-01-02T03:04:05" CveRetenc="14">` +
          `<r:Emisor RFCEmisor="EKU9003173C9"/>${receptor}<r:Totales/>${stamp}</r:Retenciones>`,
      )
    const [national, foreign] = ['<r:Nacional RFCRecep="URE180429TM6"/>', '<r:Extranjero NumRegIdTrib="9"/>']
    expect(refusal(of(national))).toBe('accepted')
    for (const both of [national + foreign, foreign + national, national + national])
      expect(refusal(of(both))).toBe('cfdi.repeated_element')
    expect(refusal(of('', `<r:Receptor>${national}</r:Receptor><r:Receptor>${foreign}</r:Receptor>`))).toBe('cfdi.repeated_element')
  })

  // 1.0 allows any xs:dateTime; a time zone goes up to 14 hours.
  it.each([
    ['Z', 0],
    ['+14:00', 840],
    ['-05:30', -330],
    ['.123-07:00', -420],
    ['', null],
  ])('a FechaExp that ends with "%s" has an offset of %s minutes', (end, utc_offset) => {
    const read = parse(
      `<r:Retenciones xmlns:r="http://www.sat.gob.mx/esquemas/retencionpago/1" Version="1.0" FechaExp="2021-01-02T03:04:05${end}" CveRetenc="14">` +
        `<r:Emisor RFCEmisor="EKU9003173C9"/><r:Receptor><r:Nacional RFCRecep="URE180429TM6"/></r:Receptor>${stamp}</r:Retenciones>`,
    )
    expect(read).toMatchObject({ fecha: '2021-01-02T03:04:05', utc_offset })
  })

  it('an offset that nobody has is refused', () => {
    for (const end of ['+15:00', '-06:60', '-6:00', '+0600'])
      expect(refusal(utf8(cfdi({ root: ROOT.replace('T10:00:00', `T10:00:00${end}`) })))).toBe('cfdi.invalid_date')
  })
})

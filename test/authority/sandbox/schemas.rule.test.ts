import { describe, expect, it } from 'vitest'
import { cfdiXml } from '../../../src/authority/sandbox/xml/cfdi-xml.ts'
import { runs } from '../../support/fuzz.ts'
import { kindsOf, monthsBetween, worldOf } from '../support/kinds.ts'
import { schemaErrors } from '../support/schemas.ts'

const RFCS = ['EKU9003173C9', 'MISC491214B86', 'DEM150101AB1']
const isLong = runs(0, 1) === 1

/** With every run, one document of each kind and year, but for those of more than 1,000 lines; in the long one all documents. */
function documentsToTry(): { name: string; xml: string }[] {
  const tried = new Set<string>()
  return RFCS.flatMap((rfc) => [...worldOf(rfc, monthsBetween('2018-01', '2026-12'))]).flatMap((one) => {
    const { fecha, uuid, conceptos } = one.document
    const kinds = kindsOf(one).map((kind) => `${fecha.slice(0, 4)} ${kind}`)
    const isNew = kinds.some((kind) => !tried.has(kind)) && conceptos.length < 1_000
    if (!isNew && !isLong) return []
    for (const kind of kinds) tried.add(kind)
    return [{ name: `${fecha.slice(0, 7)}-${uuid}`, xml: cfdiXml(one.document) }]
  })
}

describe("the authority's own schemas and catalogs", () => {
  it('accept the whole history of the sandbox: CFDI 3.3 and 4.0, complements, retenciones 1.0 and 2.0', async () => {
    const documents = documentsToTry()
    expect(documents.length).toBeGreaterThan(300)
    expect(await schemaErrors(documents)).toEqual([])
  }, 900_000)

  it('refuse what is wrong by a letter, in a document of each version and complement', async () => {
    const documents = documentsToTry()
    const wrong = (includes: string, from: RegExp, to: string) => {
      const { xml } = documents.find((one) => one.xml.includes(includes) && from.test(one.xml))!
      return { name: `${includes}${to}`.replaceAll(/\W/g, ''), xml: xml.replace(from, to) }
    }
    const broken = [
      wrong('Version="4.0"', /UsoCFDI="[^"]*"/, 'UsoCFDI="G99"'),
      wrong('Version="4.0"', / Exportacion="01"/, ''),
      wrong('Version="3.3"', /UsoCFDI="[^"]*"/, 'UsoCFDI="G99"'),
      wrong('Version="3.3"', /Conceptos><cfdi:Concepto/, 'Conceptos><cfdi:Concepto ObjetoImp="02"'),
      wrong('<pago20:', /TotalTrasladosBaseIVA16/, 'TotalTrasladosBaseIVA15'),
      wrong('<pago10:', /MetodoDePagoDR="PPD"/, 'MetodoDePagoDR="PPP"'),
      wrong('<nomina12:', /TipoContrato="01"/, 'TipoContrato="77"'),
      wrong('<implocal:', /TotaldeTraslados="[^"]*"/, 'TotaldeTraslados="1.234"'),
      wrong('retencionpago/1', /FechaExp="(.{19})-0\d:00"/, 'FechaExp="$1"'),
      wrong('retencionpago/2', /CveRetenc="\d\d"/, 'CveRetenc="99"'),
      wrong('<tfd:', /FechaTimbrado="(.{10})T/, 'FechaTimbrado="$1 '),
      // The validator lists the whole catalog in its message, of which there are tens of thousands of codes here.
      ...(isLong ? [wrong('Version="4.0"', /LugarExpedicion="\d+"/, 'LugarExpedicion="00001"')] : []),
      ...(isLong ? [wrong('Version="4.0"', /ClaveProdServ="\d+"/, 'ClaveProdServ="99999999"')] : []),
    ]
    const errors = await schemaErrors(broken)
    expect(broken.filter(({ name }) => !errors.some((error) => error.startsWith(name)))).toEqual([])
  })
})

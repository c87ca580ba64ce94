import { describe, expect, it } from 'vitest'
import type { SandboxOverrides } from '../../../src/authority/sandbox/overrides.ts'
import { sandboxAuthority } from '../../../src/authority/sandbox/sandbox.ts'
import type { SandboxComprobante } from '../../../src/authority/sandbox/world/comprobante.ts'
import { stampedAt } from '../../../src/authority/sandbox/world/invoices.ts'
import { cfdiXml } from '../../../src/authority/sandbox/xml/cfdi-xml.ts'
import { kindsOf, monthsBetween, worldOf } from '../support/kinds.ts'
import { downloadFrom } from '../support/packages.ts'
import { unzip } from '../support/unzip.ts'

const ALL = monthsBetween('2018-01', '2026-12')
const THREE_YEARS = monthsBetween('2023-12', '2026-11')

describe("the demonstration's RFCs", () => {
  it('show every kind of document within three years', () => {
    for (const rfc of ['DEM150101AB1', 'DEM090716KL8', 'DEM201228ZZ3']) {
      const world = [...worldOf(rfc, THREE_YEARS)]
      const kinds = new Set(world.flatMap(kindsOf))
      const parties = new Map(world.map(({ document: { uuid, emisor, receptor } }) => [uuid, `${emisor.rfc} ${receptor.rfc}`]))
      for (const { document, direction } of world) {
        const named = document.tipo === 'E' && parties.get(document.relacion!.uuid)
        if (named && named !== `${document.emisor.rfc} ${document.receptor.rfc}`) kinds.add(`${direction} credit note of other parties`)
      }
      const expected = [
        ...[
          '4.0 I',
          '4.0 E',
          '4.0 P',
          '4.0 N',
          '4.0 T',
          'retenciones 2.0 issued',
          'retenciones 2.0 received',
          'retenciones 01',
          'retenciones 25',
        ],
        ...['E 01', 'I 02', 'E 03', 'I 04', 'P 04', 'I 07', 'E 07', 'replaced and still valid I', 'replaced and still valid P'],
        ...['cancelled 01', 'cancelled 02', 'cancelled 03', 'cancelled 04', 'late stamp', 'foreign receiver'],
        ...['payment by a third party', 'received payment of another issuer', 'issued credit note of other parties'],
        'received credit note of other parties',
        ...['I in USD', 'I in EUR', '4.0 USD paid in USD', '4.0 USD paid in MXN', '4.0 EUR paid in USD', '4.0 MXN paid in USD'],
        ...['002 Tasa 160000', '002 Tasa 80000', '002 Tasa 0', '002 Exento', '003 Tasa 265000', '003 Tasa 80000', '003 Cuota 1645100'],
        ...['withheld 001 100000', 'withheld 001 12500', 'withheld 002 106667', 'withheld 002 40000'],
        ...['local tax charged', 'local tax withheld', 'global 03', 'global 04', 'global of the year before'],
        ...['lines few', 'lines 100s', 'lines 1,000s', '3,000 lines'],
      ]
      expect(
        expected.filter((kind) => !kinds.has(kind)),
        rfc,
      ).toEqual([])
    }
  })

  it('come with the same UUID in two packages of a month, and with retenciones in packages of their own', async () => {
    const overrides: SandboxOverrides = {
      isRefused: async () => false,
      cancellations: async () => new Map(),
      mailbox: async () => ({ sent: [], opened: new Map() }),
      open: async (_rfc, _notification, at) => at,
    }
    const authority = sandboxAuthority(overrides)
    const login = { rfc: 'DEM150101AB1', ciec: 'secreta1' }
    let [twice, apart] = [0, 0]
    for (const month of monthsBetween('2025-01', '2025-12')) {
      const packs: string[][] = []
      for await (const { kind, bytes } of downloadFrom(authority, {
        login,
        direction: 'issued',
        month,
        until: new Date('2026-06-20T18:00:00Z'),
      }))
        if (kind === 'xml') packs.push([...unzip(bytes).values()])
      const [first, second = []] = packs.map((texts) => texts.map((text) => /<tfd:[^>]* UUID="([^"]+)"/.exec(text)![1]))
      if (second.some((uuid) => first!.includes(uuid))) twice++
      if (packs[1]?.some((text) => text.includes('<retenciones:'))) apart++
      expect(packs[0]!.some((text) => text.includes('<retenciones:'))).toBe(false)
    }
    // Two documents come twice every sixth month, and there are retenciones every fourth.
    expect([twice, apart]).toEqual([2, 3])
  })
})

describe('the documents of every year', () => {
  const world = ['EKU9003173C9', 'MISC491214B86', 'CACX7605101P8'].flatMap((rfc) => [...worldOf(rfc, ALL)].map(({ document }) => document))
  const until = (year: string) => world.filter(({ fecha }) => fecha < year)

  it('are of the version of their time, and so are their rules', () => {
    const old = until('2022')
    expect(old.length).toBeGreaterThan(5_000)
    // The regime 626, reasons for cancellations and InformacionGlobal came in 2022, the lower IVA at the northern border in 2019.
    expect(old.filter(({ emisor, receptor }) => [emisor.regimen, receptor.regimen].includes('626'))).toEqual([])
    expect(old.filter(({ global }) => global)).toEqual([])
    const taxes = (list: SandboxComprobante[]) =>
      new Set(list.flatMap(({ amounts }) => amounts.traslados.map(({ impuesto, tasa }) => `${impuesto} ${tasa}`)))
    expect(taxes(until('2019')).has('002 80000')).toBe(false)
    expect(taxes(old).has('002 80000')).toBe(true)
    for (const { cancellation } of world)
      if (cancellation) expect(cancellation.motivo === null, JSON.stringify(cancellation)).toBe(cancellation.at < '2022')
    const cancelled = new Set(world.map(({ cancellation }) => cancellation?.motivo))
    for (const motivo of [null, '01', '02', '03', '04']) expect(cancelled).toContain(motivo)
  })

  it('refer to what was stamped before: substitutes, notes, payments and cancellations', () => {
    const known = new Map(world.map((document) => [document.uuid, document]))
    let checked = 0
    for (const document of world) {
      const { fecha, relacion, pago, cancellation, lugar } = document
      const named = [relacion?.uuid, ...(pago?.documentos.map(({ invoice }) => invoice.uuid) ?? [])]
      const instant = new Date(Date.parse(`${fecha}Z`) + lugar.behind_center * 3_600_000).toISOString().slice(0, 19)
      for (const uuid of named) {
        const other = uuid && known.get(uuid)
        if (!other) continue
        expect(stampedAt(other) < instant, `${document.tipo} ${document.uuid} names ${uuid}`).toBe(true)
        checked++
      }
      if (cancellation) expect(cancellation.at > stampedAt(document)).toBe(true)
      const substitute = cancellation?.folio_sustitucion && known.get(cancellation.folio_sustitucion)
      if (substitute) {
        expect(substitute.relacion).toEqual({ tipo: '04', uuid: document.uuid })
        expect(cancellation.at > stampedAt(substitute)).toBe(true)
      }
    }
    expect(checked).toBeGreaterThan(3_000)
  })

  it('pay in other currencies at a rate of their own, and the sums of a payment agree', () => {
    const number = (attributes: string, name: string) => Number(new RegExp(` ${name}="([^"]*)"`).exec(attributes)?.[1] ?? 1)
    const rates = new Set<string>()
    for (const document of world.filter(({ pago }) => pago)) {
      const xml = cfdiXml(document)
      const pago = /<pago\d0:Pago [^>]*>/.exec(xml)![0]
      const rate = number(pago, 'TipoCambioP')
      const paid = [...xml.matchAll(/<pago\d0:DoctoRelacionado [^>]*>/g)].map(([docto], i) => {
        const { invoice } = document.pago!.documentos[i]!
        const equivalence = number(docto, 'EquivalenciaDR') * number(docto, 'TipoCambioDR')
        expect(number(docto, 'ImpSaldoAnt') - number(docto, 'ImpPagado')).toBeCloseTo(number(docto, 'ImpSaldoInsoluto'), 4)
        if (invoice.tipo_cambio !== null) expect(rate / equivalence).not.toBeCloseTo(invoice.tipo_cambio / 10_000, 6)
        else expect(equivalence).toBeCloseTo(rate, 6)
        rates.add(`${invoice.moneda} in ${document.pago!.moneda}`)
        return number(docto, 'ImpPagado') / equivalence
      })
      const monto = number(pago, 'Monto')
      expect(Math.abs(monto - paid.reduce((sum, amount) => sum + amount, 0))).toBeLessThan(0.0051)
      const totales = /<pago20:Totales [^>]*>/.exec(xml)?.[0]
      if (totales) expect(Math.abs(number(totales, 'MontoTotalPagos') - monto * rate)).toBeLessThan(0.0051)
    }
    expect([...rates].sort()).toEqual(['EUR in EUR', 'EUR in MXN', 'EUR in USD', 'MXN in MXN', 'MXN in USD', 'USD in MXN', 'USD in USD'])
  })

  it('name months of the same or the year before in InformacionGlobal', () => {
    for (const { fecha, global, receptor } of world.filter(({ serie, fecha }) => serie === 'G' && fecha >= '2022')) {
      expect(receptor).toMatchObject({ rfc: 'XAXX010101000', nombre: 'PUBLICO EN GENERAL', regimen: '616' })
      const { anio, meses, periodicidad } = global!
      const ago = (Number(fecha.slice(0, 4)) - Number(anio)) * 12 + Number(fecha.slice(5, 7)) - Number(meses)
      // A fortnight's sales are invoiced in its month, a month's in the next.
      expect([periodicidad, ago]).toEqual(ago === 1 ? ['04', 1] : ['03', 0])
    }
  })
})

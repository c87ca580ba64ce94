import { describe, expect, it } from 'vitest'
import { DATA_SOURCE_KEYS, type Login, LoginRejected } from '../../../src/authority/port/authority.ts'
import { loginValue } from '../../../src/authority/port/login.ts'
import { filesOf } from '../../../src/authority/sandbox/documents/documents.ts'
import type { CancellationOverride } from '../../../src/authority/sandbox/documents/port.ts'
import type { SandboxOverrides } from '../../../src/authority/sandbox/overrides.ts'
import { sandboxAuthority } from '../../../src/authority/sandbox/sandbox.ts'
import { withCheckDigit } from '../../../src/authority/sandbox/world/taxpayers.ts'
import { Unavailable } from '../../../src/platform/failures.ts'
import { filesFrom } from '../support/documents.ts'
import { downloadFrom } from '../support/packages.ts'
import { unzip } from '../support/unzip.ts'

const COMPANY = 'EKU9003173C9'
const PERSON = 'MISC491214B86'
const LATE = new Date('2026-06-20T18:00:00Z')
type Direction = 'issued' | 'received'

const stateOf = (stated = new Map<string, CancellationOverride>(), refused = ''): SandboxOverrides => ({
  isRefused: async (login) => loginValue(login) === refused,
  cancellations: async () => stated,
  mailbox: async () => ({ sent: [], opened: new Map() }),
  open: async (_rfc, _notification, at) => at,
})
const authority = sandboxAuthority(stateOf())
const login = (rfc: string, ciec = 'Abcd1234'): Login => ({ rfc, ciec })

interface Package {
  kind: string
  bytes: Uint8Array
}

async function packagesOf(rfc: string, direction: Direction, month: string, until = LATE, from = authority): Promise<Package[]> {
  const packages: Package[] = []
  for await (const pack of downloadFrom(from, { login: login(rfc), direction, month, until }))
    packages.push({ ...pack, bytes: pack.bytes.slice() })
  return packages
}

const rowsOf = (packages: Package[]) =>
  packages
    .filter(({ kind }) => kind === 'metadata')
    .flatMap(({ bytes }) => [...unzip(bytes).values()])
    .flatMap((text) => {
      const [header, ...lines] = text.trimEnd().split('\r\n')
      const columns = header!.split('~')
      return lines.map((row) => Object.fromEntries(row.split('~').map((value, i) => [columns[i]!, value])) as Record<string, string>)
    })
const xmlsOf = (packages: Package[]) =>
  packages.filter(({ kind }) => kind === 'xml').flatMap(({ bytes }) => [...unzip(bytes)].map(([name, xml]) => ({ name, xml })))

const attributes = (tag: string): Record<string, string> =>
  Object.fromEntries([...tag.matchAll(/\s([^\s=]+)="([^"]*)"/g)].map(([, key, value]) => [key!, value!]))
/** Attributes of each element of that name. */
const all = (xml: string, name: string) => [...xml.matchAll(new RegExp(`<${name}(?=[\\s/>])[^>]*>`, 'g'))].map(([tag]) => attributes(tag))
const one = (xml: string, name: string) => all(xml, name)[0] ?? {}

/** An amount with up to six decimals, in millionths. */
const micros = (text = '0'): bigint => {
  const [whole, fraction = ''] = text.split('.')
  return BigInt(whole + fraction.padEnd(6, '0'))
}
const total = (list: Record<string, string>[], key: string): bigint => list.reduce((sum, item) => sum + micros(item[key]), 0n)

const months = (from: number, count: number): string[] =>
  Array.from({ length: count }, (_, i) => new Date(Date.UTC(from, i, 1)).toISOString().slice(0, 7))

async function historyOf(rfc: string, direction: Direction, from: number, count: number) {
  const packages: Package[] = []
  for (const month of months(from, count)) packages.push(...(await packagesOf(rfc, direction, month)))
  return { rows: rowsOf(packages), xmls: xmlsOf(packages).map(({ xml }) => xml) }
}

describe('the sandbox authority delivers', () => {
  it('the same bytes for the same question', async () => {
    const [first, second] = [await packagesOf(COMPANY, 'issued', '2025-03'), await packagesOf(COMPANY, 'issued', '2025-03')]
    expect(first).toEqual(second)
    expect(first.map(({ kind }) => kind)).toEqual(['metadata', 'xml'])
  })

  it('more as time passes, and never anything later than asked', async () => {
    for (const direction of ['issued', 'received'] as const) {
      let before: string[] = []
      for (const day of ['05', '12', '18', '24', '30']) {
        const until = new Date(`2025-03-${day}T20:00:00Z`)
        const rows = rowsOf(await packagesOf(PERSON, direction, '2025-03', until))
        const uuids = rows.map(({ Uuid }) => Uuid!)
        expect(uuids).toEqual(expect.arrayContaining(before))
        expect(uuids.length).toBeGreaterThan(before.length)
        expect(rows.every(({ FechaEmision }) => FechaEmision! <= `2025-03-${day} 15:00:00`)).toBe(true)
        expect(rows.every(({ FechaCancelacion }) => FechaCancelacion! <= `2025-03-${day} 14:00:00`)).toBe(true)
        before = uuids
      }
    }
  })

  it('a document from the second in which it was stamped, and not before', async () => {
    for (const { Uuid, FechaCertificacionSat } of rowsOf(await packagesOf(PERSON, 'issued', '2025-03')).slice(0, 5)) {
      const known = async (until: number) =>
        rowsOf(await packagesOf(PERSON, 'issued', '2025-03', new Date(until))).some((row) => row['Uuid'] === Uuid)
      // The time of the stamp is that of central Mexico, which is six hours behind UTC.
      const stamped = Date.parse(`${FechaCertificacionSat!.replace(' ', 'T')}-06:00`)
      expect([await known(stamped - 1_000), await known(stamped)]).toEqual([false, true])
    }
  })

  it('documents that were stamped up to 72 hours after they were issued', async () => {
    const waits: number[] = []
    for (const month of months(2024, 12))
      for (const { FechaEmision, FechaCertificacionSat } of rowsOf(await packagesOf(COMPANY, 'received', month)))
        waits.push((Date.parse(`${FechaCertificacionSat}Z`) - Date.parse(`${FechaEmision}Z`)) / 3_600_000)
    const late = waits.filter((hours) => hours > 4)
    // The clocks of Tijuana and Cancún are at most two hours behind and one hour ahead of those of central Mexico.
    expect(Math.min(...waits)).toBeGreaterThan(-1)
    expect(Math.max(...waits)).toBeLessThan(72 + 2)
    expect(Math.max(...waits)).toBeGreaterThan(48)
    expect(late.length / waits.length).toBeLessThan(0.06)
    expect(late.length).toBeGreaterThan(5)
  })

  it('the same world in every version: so many documents of each type, and guarantees in the collateral registry for about 40 % of RFCs', async () => {
    const counts: Record<string, number> = {}
    for (const { EfectoComprobante } of (await historyOf(COMPANY, 'received', 2025, 6)).rows)
      counts[EfectoComprobante!] = (counts[EfectoComprobante!] ?? 0) + 1
    expect(counts).toEqual({ I: 145, E: 9, P: 59, T: 1, '': 2 })
    let registered = 0
    for (let n = 0; n < 200; n++) {
      const rfc = withCheckDigit(
        `RUG1001${String(10 + (n % 18))}${String.fromCharCode(65 + (n % 26))}${String.fromCharCode(65 + Math.floor(n / 26))}`,
      )
      const [file] = await filesFrom(authority, login(rfc), 'sat_rug', LATE)
      if (file!.attributes['garantias'] !== '0') registered++
    }
    expect(registered).toBeGreaterThan(60)
    expect(registered).toBeLessThan(100)
  })

  it('nothing before 2018, nor of a month that has not begun', async () => {
    expect(await packagesOf(COMPANY, 'issued', '2017-12')).toEqual([])
    expect(await packagesOf(COMPANY, 'issued', '2026-08')).toEqual([])
  })

  it('20 to 60 documents a month and direction, each once', async () => {
    const uuids = new Set<string>()
    let documents = 0
    for (const rfc of [COMPANY, PERSON, 'Ñ&P910203AB1', 'VADA800927DJ3'])
      for (const direction of ['issued', 'received'] as const)
        for (const month of [...months(2018, 8), ...months(2025, 4)]) {
          const rows = rowsOf(await packagesOf(rfc, direction, month))
          expect(rows.length, `${rfc} ${direction} ${month}`).toBeGreaterThanOrEqual(20)
          expect(rows.length, `${rfc} ${direction} ${month}`).toBeLessThanOrEqual(60)
          expect(rows.every(({ FechaEmision }) => FechaEmision!.startsWith(month))).toBe(true)
          documents += rows.length
          for (const { Uuid } of rows) uuids.add(Uuid!)
        }
    expect(uuids.size).toBe(documents)
  })

  it('the XML of every issued document, and of the received ones that are valid', async () => {
    for (const direction of ['issued', 'received'] as const) {
      const packages = await packagesOf(COMPANY, direction, '2024-05')
      const expected = rowsOf(packages).filter(({ Estatus }) => direction === 'issued' || Estatus === '1')
      const xmls = new Map(xmlsOf(packages).map((entry) => [entry.name.toUpperCase(), entry]))
      expect([...xmls.keys()]).toEqual(expected.map(({ Uuid }) => `${Uuid}.XML`))
      ;[...xmls.values()].forEach(({ name, xml }, i) => {
        const { Uuid, Monto, EfectoComprobante, FechaEmision } = expected[i]!
        if (EfectoComprobante === '') {
          expect([one(xml, 'tfd:TimbreFiscalDigital').UUID, one(xml, 'retenciones:Totales').MontoTotOperacion]).toEqual([Uuid, Monto])
          return
        }
        const root = one(xml, 'cfdi:Comprobante')
        expect(one(xml, 'tfd:TimbreFiscalDigital').UUID, name).toBe(Uuid)
        expect([micros(root.Total), root.TipoDeComprobante, root.Fecha]).toEqual([
          micros(Monto),
          EfectoComprobante,
          FechaEmision!.replace(' ', 'T'),
        ])
        expect(one(xml, direction === 'issued' ? 'cfdi:Emisor' : 'cfdi:Receptor').Rfc).toBe(COMPANY)
      })
    }
  })
})

describe('three years of sandbox documents', () => {
  it('have every type and trait', async () => {
    const found = new Set<string>()
    for (const rfc of [COMPANY, PERSON, 'VADA800927DJ3', 'HEGT7610034S2', 'CACX7605101P8'])
      for (const direction of ['issued', 'received'] as const) {
        const { rows, xmls } = await historyOf(rfc, direction, 2023, 36)
        const side = rfc.length === 12 ? 'company' : 'person'
        for (const { Motivo, FolioSustitucion } of rows)
          if (Motivo) found.add(`motivo ${Motivo} ${FolioSustitucion ? 'substituted' : ''}`.trim())
        for (const xml of xmls) {
          const { TipoDeComprobante: tipo, MetodoPago, Moneda, Descuento, LugarExpedicion } = one(xml, 'cfdi:Comprobante')
          found.add(`${side} ${direction} ${tipo}`).add(`${tipo} ${MetodoPago}`).add(`${tipo} ${Moneda}`).add(`at ${LugarExpedicion}`)
          if (Descuento) found.add('discount')
          if (all(xml, 'cfdi:InformacionGlobal').length > 0) found.add('global')
          if (one(xml, 'cfdi:Receptor').ResidenciaFiscal) found.add('foreign customer')
          for (const { TipoRelacion } of all(xml, 'cfdi:CfdiRelacionados')) found.add(`${tipo} ${TipoRelacion}`)
          for (const tax of all(xml, 'cfdi:Traslado')) found.add(`${tax.Impuesto} ${tax.TasaOCuota ?? tax.TipoFactor}`)
          for (const tax of all(xml, 'cfdi:Retencion')) if (tax.TasaOCuota) found.add(`withheld ${tax.Impuesto} ${tax.TasaOCuota}`)
          const documents = all(xml, 'pago20:DoctoRelacionado')
          if (documents.length > 1) found.add('P of several')
          for (const { NumParcialidad, MonedaDR } of documents)
            found.add(`instalment ${NumParcialidad}`).add(`${MonedaDR} in ${one(xml, 'pago20:Pago').MonedaP}`)
          if (/ (Nombre|Rfc)="[^"]*&amp;/.test(xml)) found.add('ampersand')
          if (/ Rfc="[^"]*Ñ/.test(xml)) found.add('Ñ')
        }
      }
    const types = ['I', 'E', 'P', 'T'].flatMap((tipo) => [
      `company issued ${tipo}`,
      `company received ${tipo}`,
      `person issued ${tipo}`,
      `person received ${tipo}`,
    ])
    expect([...found]).toEqual(
      expect.arrayContaining([...types, 'company issued N', 'person received N', 'I PUE', 'I PPD', 'I USD', 'I EUR']),
    )
    expect([...found]).toEqual(
      expect.arrayContaining(['E 01', 'E 03', 'E 07', 'I 07', 'I 04', 'P 04', 'motivo 01 substituted', 'motivo 02', 'motivo 03']),
    )
    expect([...found]).toEqual(expect.arrayContaining(['002 0.160000', '002 0.080000', '002 0.000000', '002 Exento', '003 0.265000']))
    expect([...found]).toEqual(
      expect.arrayContaining(['withheld 001 0.100000', 'withheld 001 0.012500', 'withheld 002 0.106667', 'withheld 002 0.040000']),
    )
    expect([...found]).toEqual(
      expect.arrayContaining(['discount', 'global', 'foreign customer', 'P of several', 'instalment 3', 'ampersand', 'Ñ']),
    )
    expect([...found]).toEqual(expect.arrayContaining(['USD in MXN', 'USD in USD', 'EUR in EUR', 'MXN in MXN', 'at 22000', 'at 77500']))
    expect(found).not.toContain('person issued N')
  })

  it('add up to the cent', async () => {
    for (const [rfc, direction] of [
      [COMPANY, 'issued'],
      [PERSON, 'issued'],
      [COMPANY, 'received'],
    ] as const)
      for (const xml of (await historyOf(rfc, direction, 2024, 12)).xmls.filter((text) => !text.includes('<retenciones:'))) {
        const root = one(xml, 'cfdi:Comprobante')
        const lines = all(xml, 'cfdi:Concepto')
        const [conceptos, header = ''] = xml.split('</cfdi:Conceptos>') as [string, string]
        for (const line of lines) expect(micros(line.ValorUnitario) * BigInt(line.Cantidad!)).toBe(micros(line.Importe))
        for (const tax of [...all(conceptos, 'cfdi:Traslado'), ...all(conceptos, 'cfdi:Retencion')]) {
          const exact = micros(tax.Base) * micros(tax.TasaOCuota)
          expect(((exact + 5_000_000_000n) / 10_000_000_000n) * 10_000n).toBe(micros(tax.Importe))
        }
        const subtotal = total(lines, 'Importe')
        const descuento = total(lines, 'Descuento')
        const traslados = total(all(conceptos, 'cfdi:Traslado'), 'Importe')
        const retenciones = total(all(conceptos, 'cfdi:Retencion'), 'Importe')
        expect([micros(root.SubTotal), micros(root.Descuento)]).toEqual([subtotal, descuento])
        const locales = one(xml, 'implocal:ImpuestosLocales')
        const local = micros(locales.TotaldeTraslados) - micros(locales.TotaldeRetenciones)
        expect(micros(root.Total)).toBe(subtotal - descuento + traslados - retenciones + local)
        const taxes = one(header, 'cfdi:Impuestos')
        expect([micros(taxes.TotalImpuestosTrasladados), micros(taxes.TotalImpuestosRetenidos)]).toEqual([traslados, retenciones])
        expect(total(all(header, 'cfdi:Traslado'), 'Importe')).toBe(traslados)
        expect(total(all(header, 'cfdi:Retencion'), 'Importe')).toBe(retenciones)
        expect(total(all(header, 'cfdi:Traslado'), 'Base')).toBe(total(all(conceptos, 'cfdi:Traslado'), 'Base'))
      }
  })

  it('never settle more than an invoice is worth, and leave the balance that they say', async () => {
    for (const [rfc, direction, from] of [
      [COMPANY, 'issued', 2020],
      [PERSON, 'received', 2023],
    ] as const) {
      const { rows, xmls } = await historyOf(rfc, direction, from, 30)
      const cancelled = new Set(rows.filter(({ Estatus }) => Estatus === '0').map(({ Uuid }) => Uuid))
      const uuidOf = (xml: string) => one(xml, 'tfd:TimbreFiscalDigital').UUID!
      const replaced = new Set(xmls.filter((xml) => xml.includes('TipoRelacion="04"')).map((xml) => one(xml, 'cfdi:CfdiRelacionado').UUID))
      const balances = new Map<string, bigint>()
      const issuers = new Map<string, string>()
      const instalments = new Map<string, number>()
      let paid = 0
      const valid = [...new Map(xmls.map((xml) => [uuidOf(xml), xml])).values()]
        .filter((xml) => xml.includes('<cfdi:') && !cancelled.has(uuidOf(xml)) && !replaced.has(uuidOf(xml)))
        .sort((a, b) => (one(a, 'cfdi:Comprobante').Fecha! < one(b, 'cfdi:Comprobante').Fecha! ? -1 : 1))
      for (const xml of valid) {
        const { TipoDeComprobante, MetodoPago, Total } = one(xml, 'cfdi:Comprobante')
        const [uuid, emisor] = [uuidOf(xml), one(xml, 'cfdi:Emisor').Rfc!]
        const parties = `${emisor} ${one(xml, 'cfdi:Receptor').Rfc}`
        const related = one(xml, 'cfdi:CfdiRelacionado').UUID!
        if (TipoDeComprobante === 'I' && MetodoPago === 'PPD') {
          balances.set(uuid, micros(Total))
          issuers.set(uuid, parties)
        }
        // A credit note counts between the invoice's two parties, a payment from its issuer.
        if (TipoDeComprobante === 'E' && issuers.get(related) === parties) balances.set(related, balances.get(related)! - micros(Total))
        for (const document of [...all(xml, 'pago20:DoctoRelacionado'), ...all(xml, 'pago10:DoctoRelacionado')]) {
          const id = document.IdDocumento!
          if (!issuers.get(id)?.startsWith(emisor)) continue
          const parcialidad = (instalments.get(id) ?? 0) + 1
          instalments.set(id, parcialidad)
          expect([document.NumParcialidad, micros(document.ImpSaldoAnt)]).toEqual([String(parcialidad), balances.get(id)])
          balances.set(id, balances.get(id)! - micros(document.ImpPagado))
          expect(micros(document.ImpSaldoInsoluto)).toBe(balances.get(id))
          expect(balances.get(id)! >= 0n).toBe(true)
          paid++
        }
      }
      expect(paid).toBeGreaterThan(100)
      expect([...balances.values()].some((balance) => balance > 0n)).toBe(true)
    }
  })

  it('have counterparties whose RFC has its check digit', async () => {
    for (const { RfcEmisor, RfcReceptor } of (await historyOf(COMPANY, 'received', 2024, 6)).rows) {
      expect(withCheckDigit(RfcEmisor!.slice(0, -1))).toBe(RfcEmisor)
      expect(RfcReceptor).toBe(COMPANY)
    }
  })
})

describe('what testers tell the sandbox', () => {
  it('a cancellation that was told is reported from then on', async () => {
    const valid = rowsOf(await packagesOf(COMPANY, 'received', '2025-03')).find(({ Estatus }) => Estatus === '1')!
    const stated = new Map([[valid.Uuid!, { cancelled_at: new Date('2025-08-01T03:00:00Z'), cancellation_reason: '02' }]])
    const packages = await packagesOf(COMPANY, 'received', '2025-03', LATE, sandboxAuthority(stateOf(stated)))
    expect(rowsOf(packages).find(({ Uuid }) => Uuid === valid.Uuid)).toMatchObject({
      Estatus: '0',
      FechaCancelacion: '2025-07-31 21:00:00',
      Motivo: '02',
      FolioSustitucion: '',
    })
    expect(xmlsOf(packages).some(({ name }) => name.toUpperCase() === `${valid.Uuid}.XML`)).toBe(false)
  })

  it('a refused CIEC neither passes nor downloads', async () => {
    const stateful = sandboxAuthority(stateOf(undefined, 'expired1'))
    for (const ciec of ['rejected', 'rejected-anything', 'expired1']) {
      const request = { login: login(COMPANY, ciec), direction: 'issued', month: '2025-03', until: LATE } as const
      expect(await stateful.verify(request.login)).toBe(false)
      await expect(downloadFrom(stateful, request).next()).rejects.toBeInstanceOf(LoginRejected)
      await expect(filesFrom(stateful, request.login, 'sat_csf', LATE)).rejects.toBeInstanceOf(LoginRejected)
    }
    expect(await stateful.verify(login(COMPANY))).toBe(true)
  })

  it('a locked account is unavailable, and never refused', async () => {
    const request = { login: login(COMPANY, 'locked1'), direction: 'issued', month: '2025-03', until: LATE } as const
    const locked = expect.objectContaining({ isLocked: true, error_class: 'login_failed' })
    for (const asked of [
      () => authority.verify(request.login),
      () => downloadFrom(authority, request).next(),
      () => filesFrom(authority, request.login, 'sat_csf', LATE),
    ])
      await expect(asked()).rejects.toEqual(locked)
  })

  it('an authority that is down lets the login pass and fails afterwards', async () => {
    for (const [ciec, packages] of [
      ['unavailable', 0],
      ['limited', 0],
      ['interrupted', 1],
    ] as const) {
      expect(await authority.verify(login(COMPANY, ciec))).toBe(true)
      const seen: Package[] = []
      const run = async () => {
        const request = { login: login(COMPANY, ciec), direction: 'issued', month: '2025-03', until: LATE } as const
        for await (const pack of downloadFrom(authority, request)) seen.push(pack)
      }
      await expect(run()).rejects.toBeInstanceOf(Unavailable)
      expect(seen).toHaveLength(packages)
    }
  })
})

describe('sandbox documents', () => {
  it('exist for every source, and are the same all month', async () => {
    for (const source of DATA_SOURCE_KEYS.filter((key) => !key.startsWith('sat_cfdi'))) {
      const files = await filesFrom(authority, login(PERSON), source, new Date('2026-05-20T18:00:00Z'))
      expect(files.length, source).toBeGreaterThan(0)
      expect(await filesFrom(authority, login(PERSON), source, new Date('2026-05-28T18:00:00Z'))).toEqual(files)
      for (const { content_type, bytes, document_date } of files) {
        const text = new TextDecoder('latin1').decode(bytes)
        expect(document_date <= '2026-05-20').toBe(true)
        if (content_type === 'application/json') expect(JSON.parse(text).rfc).toBe(PERSON)
        else {
          const objects = text.match(/^\d+ 0 obj$/gm)!.length
          expect(text.slice(Number(/startxref\n(\d+)\n%%EOF\n$/.exec(text)![1])).startsWith(`xref\n0 ${objects + 1}\n`)).toBe(true)
        }
      }
    }
  })

  it('are three annual and twelve monthly returns, each with its receipt, and amended returns beside the first ones', async () => {
    const returns = async (source: 'sat_declaracion_anual' | 'sat_declaracion_mensual') => {
      const files = await filesFrom(authority, login(COMPANY), source, LATE)
      const of = (kind: string) =>
        files.filter((file) => file.kind === kind).map(({ attributes, period_end }) => `${attributes['tipo']} ${period_end}`)
      expect(of('acuse')).toEqual(of('declaracion'))
      return of('declaracion')
    }
    expect(await returns('sat_declaracion_anual')).toEqual(['normal 2025-12-31', 'normal 2024-12-31', 'normal 2023-12-31'])
    const all = await returns('sat_declaracion_mensual')
    const monthly = all.filter((one) => one.startsWith('normal'))
    expect([monthly.length, monthly[0], monthly.at(-1)]).toEqual([12, 'normal 2026-05-31', 'normal 2025-06-30'])
    const amended = all.filter((one) => one.startsWith('complementaria'))
    expect(amended.length).toBeGreaterThan(0)
    for (const one of amended) expect(monthly).toContain(one.replace('complementaria', 'normal'))
  })

  it('change over the years: the taxpayer moves, gets a regime or an obligation, and once in two years the opinion is negative', () => {
    const months = Array.from({ length: 96 }, (_, n) => new Date(Date.UTC(2019, n, 5, 18)))
    const texts = (rfc: string, source: 'sat_csf' | 'sat_opinion_32d') =>
      months.map((month) => new TextDecoder('latin1').decode(filesOf(rfc, source, month)[0]!.bytes))
    const distinct = (all: string[], part: RegExp) => new Set(all.map((text) => text.match(part)?.map(String).join())).size
    for (const rfc of [PERSON, COMPANY]) {
      const csf = texts(rfc, 'sat_csf')
      expect(distinct(csf, /Nombre de Vialidad: [^)]+\) Tj|Exterior: \d+/g)).toBeGreaterThanOrEqual(3)
      expect(distinct(csf, /\((R.gimen (?:de|General|Simplificado) [^)]+|Entero de retenciones)/g)).toBe(2)
      expect(texts(rfc, 'sat_opinion_32d').filter((text) => text.includes('sentido NEGATIVO'))).toHaveLength(4)
    }
  })
})

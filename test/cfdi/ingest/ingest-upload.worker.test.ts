import { env } from 'cloudflare:workers'
import { describe, expect, it } from 'vitest'
import type { EntryResult, IngestTarget } from '../../../src/cfdi/ingest/ingest.ts'
import { ingestUpload } from '../../../src/cfdi/ingest/upload.ts'
import { startOf } from '../../../src/cfdi/package/package.ts'
import { MonthMetadata } from '../../../src/cfdi/package/rejections.ts'
import { readXml, type XmlLocation } from '../../../src/cfdi/xml/xml-store.ts'
import { bytesInMemory } from '../../../src/platform/bytes/bytes.ts'
import { randomOf } from '../../support/random.ts'
import { zipOf } from '../../support/zip.ts'
import { contentsOf, newBook, rowsOf } from '../support/book.ts'
import { type Plain, plainOf, RFC, xmlOf } from '../support/documents.ts'
import { contentOf, entriesIn } from '../support/entries.ts'
import { ingestZip } from '../support/ingest-zip.ts'

const random = randomOf(21)
const encoded = (text: string) => new TextEncoder().encode(text)
const xml = (document: Plain) => ({ name: `${document.uuid}.xml`, bytes: encoded(xmlOf(document)) })
const txt = (...rows: [document: Plain, estatus: 0 | 1][]) =>
  encoded(
    [
      'Uuid~RfcEmisor~NombreEmisor~RfcReceptor~NombreReceptor~RfcPac~FechaEmision~FechaCertificacionSat~Monto~EfectoComprobante~Estatus~FechaCancelacion',
    ]
      .concat(
        rows.map(([{ uuid, emisor, receptor, fecha, total, tipo }, estatus]) =>
          [
            uuid,
            emisor,
            'A',
            receptor,
            'B',
            'SPR190613I52',
            fecha.replace('T', ' '),
            fecha.replace('T', ' '),
            total,
            tipo,
            estatus,
            '',
          ].join('~'),
        ),
      )
      .map((line) => `${line}\r\n`)
      .join(''),
  )

/** All that is said of an upload's files: what is committed with the slices, then what is returned. */
async function resultsOf(target: IngestTarget, bytes: Uint8Array): Promise<EntryResult[]> {
  const { slices, returned } = await sliced(target, bytes)
  return [...slices.flat(), ...returned]
}

async function sliced(target: IngestTarget, bytes: Uint8Array) {
  const slices: EntryResult[][] = []
  const sideStatements: IngestTarget['sideStatements'] = ({ entries }) => {
    slices.push(entries)
    return []
  }
  const returned = await ingestUpload({ ...target, sideStatements }, bytesInMemory(bytes))
  return { slices: slices.filter((entries) => entries.length > 0), returned }
}

describe('an upload', () => {
  /** What breaks without it: of a document that is listed twice, the order of the rows decides whether it is cancelled. */
  it('keeps a document as cancelled that one of its rows calls so, in whatever order', async () => {
    for (const order of [[0, 1] as const, [1, 0] as const]) {
      const target = newBook('import')
      const document = plainOf(random, '2025-01', {})
      await resultsOf(target, zipOf([{ name: 'a.txt', bytes: txt([document, order[0]], [document, order[1]]) }]))
      expect((await rowsOf(target)).get(document.uuid)).toMatchObject({ cancelled: 1 })
    }
  })

  it('of a ZIP may hold XML and metadata: one result a file', async () => {
    const target = newBook('import')
    const [valid, cancelled, known] = [1, 2, 3].map(() => plainOf(random, '2025-01', { metodo: 'PPD' })) as [Plain, Plain, Plain]
    const zip = zipOf([
      xml(valid),
      { name: 'lista.txt', bytes: txt([cancelled, 0], [known, 1], [valid, 1]) },
      xml(cancelled),
      { name: 'otra.txt', bytes: txt([valid, 1]) },
    ])
    const shown = ({ n, name, status }: EntryResult) => [n, name, status]
    const { slices, returned } = await sliced(target, zip)
    expect(slices.flat().map(shown)).toEqual([
      [0, `${valid.uuid}.xml`, 'created'],
      [2, `${cancelled.uuid}.xml`, 'created'],
    ])
    expect(returned.map(shown)).toEqual([
      [1, 'lista.txt', 'created'],
      [3, 'otra.txt', 'unchanged'],
    ])
    const rows = await rowsOf(target)
    expect([valid, cancelled, known].map(({ uuid }) => rows.get(uuid)?.estatus)).toEqual(['vigente', 'cancelado', 'vigente'])
    expect(await ingestUpload(target, bytesInMemory(zipOf([{ name: 'nueva.txt', bytes: txt([valid, 0]) }])))).toMatchObject([
      { status: 'updated' },
    ])
    expect((await rowsOf(target)).get(valid.uuid)?.estatus).toBe('cancelado')
  })

  it('of one XML or one TXT is one result', async () => {
    const target = newBook('import')
    const [one, other] = [plainOf(random, '2025-01', {}), plainOf(random, '2025-01', {})]
    expect(await resultsOf(target, xml(one).bytes)).toMatchObject([{ n: 0, status: 'created', uuid: one.uuid }])
    expect(await resultsOf(target, xml(one).bytes)).toMatchObject([{ n: 0, status: 'unchanged', uuid: one.uuid }])
    expect(await ingestUpload(target, bytesInMemory(txt([other, 1])))).toMatchObject([{ n: 0, status: 'created', uuid: null }])
    expect(await resultsOf(target, encoded('%PDF-1.7'))).toMatchObject([{ status: 'rejected', code: expect.stringMatching(/^cfdi\./) }])
    expect(await ingestUpload(target, bytesInMemory(encoded('PK no ZIP')))).toMatchObject([
      { status: 'rejected', code: 'zip.no_directory' },
    ])
  })

  it('keeps documents with very many lines or large addendas whole, with all of their sums, and says whose lines are not all read', async () => {
    const target = newBook('import')
    const line =
      '<cfdi:Concepto ClaveProdServ="15101514" Cantidad="1" ClaveUnidad="LTR" Descripcion="GASOLINA" ValorUnitario="0.01" Importe="0.01" ' +
      'ObjetoImp="02"><cfdi:Impuestos><cfdi:Traslados><cfdi:Traslado Base="0.01" Impuesto="002" TipoFactor="Tasa" TasaOCuota="0.160000" ' +
      'Importe="0.01"/></cfdi:Traslados></cfdi:Impuestos></cfdi:Concepto>'
    const withLines = (document: Plain, count: number) =>
      xmlOf(document).replace(/<cfdi:Conceptos>.*<\/cfdi:Conceptos>/s, `<cfdi:Conceptos>${line.repeat(count)}</cfdi:Conceptos>`)
    const [many, most, addenda] = [1, 2, 3].map(() => plainOf(random, '2025-01', { metodo: 'PUE' })) as [Plain, Plain, Plain]
    const addendaOf6Mb = `<cfdi:Addenda>${`<pedido folio="${'x'.repeat(100)}"/>`.repeat(50_000)}</cfdi:Addenda></cfdi:Comprobante>`
    const files = [
      [many, withLines(many, 13_500)],
      [most, withLines(most, 30_001)],
      [addenda, xmlOf(addenda).replace('</cfdi:Comprobante>', addendaOf6Mb)],
    ] as const
    const zip = zipOf(files.map(([{ uuid }, text]) => ({ name: `${uuid}.xml`, bytes: encoded(text) })))
    expect((await resultsOf(target, zip)).map(({ status }) => status)).toEqual(['created', 'created', 'created'])
    const [rows, contents] = [await rowsOf(target), await contentsOf(target)]
    const shown = files.map(([{ uuid }]) => [rows.get(uuid)!.beyond_limits, contents.get(uuid)!.conceptos.length])
    expect(shown).toEqual([
      [null, 13_500],
      ['lines', 30_000],
      [null, contents.get(addenda.uuid)!.conceptos.length],
    ])
    // 30,001 lines of 0.01.
    expect(rows.get(most.uuid)!.products).toBe('15101514=300010000')
    expect(contents.get(addenda.uuid)!.repairs).toEqual([])
    for (const [{ uuid, total }, text] of files) {
      const row = rows.get(uuid)!
      expect(row.total).toBe(total)
      expect(new TextDecoder().decode(await readXml(target.files, row as XmlLocation))).toBe(text)
    }
  })

  it('keeps what is too long to be kept from failing the rest', async () => {
    const target = newBook('import')
    const [good, long, wide] = [1, 2, 3].map(() => plainOf(random, '2025-01', { metodo: 'PPD' })) as [Plain, Plain, Plain]
    const name = xmlOf(long).replace('Nombre="CLIENTE DE PRUEBA"', `Nombre="${'€'.repeat(1_000_000)}"`)
    const pagos = Array.from({ length: 12_000 }, () => ({ uuid: long.uuid, pagado: '0.01', moneda: 'MXN' }))
    const payment = { ...wide, tipo: 'P' as const, metodo: null, pagos: [{ fecha: '2025-01-01T00:00:00', documentos: pagos }] }
    const zip = zipOf([xml(good), { name: `${long.uuid}.xml`, bytes: encoded(name) }, xml(payment)])
    expect((await resultsOf(target, zip)).map(({ status, code }) => [status, code])).toEqual([
      ['created', null],
      ['rejected', 'cfdi.too_large'],
      ['created', null],
    ])
    const rows = await rowsOf(target)
    expect(rows.get(payment.uuid)?.chunk_parts).toBeGreaterThan(1)
    // A document that pays more than real ones do is kept, and says what is left out.
    const { pagos: read, repairs } = (await contentsOf(target)).get(payment.uuid)!
    expect([read[0]!.documentos.length, repairs]).toEqual([10_000, ['related_cut']])
    const applied = await env.LEDGER_0.prepare('select count(*) as n from cfdi_payments where entity = ?').bind(target.entity).first('n')
    expect(applied).toBe(2_000)
    expect(rows.get(good.uuid)).toMatchObject({ direction: 0, counterparty_rfc: good.receptor })
    expect(good.emisor).toBe(RFC)
  })
})

/** The ZIP with other sizes in its directory than its entries have. */
function declaring(zip: Uint8Array, sizes: readonly (number | null)[]): Uint8Array {
  const view = new DataView(zip.buffer, zip.byteOffset, zip.byteLength)
  let at = view.getUint32(zip.length - 6, true)
  for (const size of sizes) {
    if (size !== null) view.setUint32(at + 24, size, true)
    at += 46 + view.getUint16(at + 28, true) + view.getUint16(at + 30, true) + view.getUint16(at + 32, true)
  }
  return zip
}

const MIB = 1024 * 1024
const liars = (count: number) => Array.from({ length: count }, (_, i) => ({ name: `${i}.xml`, bytes: encoded(`<a n="${i}"/>`) }))
const codesOf = (results: readonly EntryResult[]) => results.map(({ name, status, code }) => [name, code ?? status])

describe('the size of an upload', () => {
  it('cuts slices by what their files say that they weigh, refused ones aside', async () => {
    const zip = declaring(zipOf(liars(11)), [...Array<number>(10).fill(4 * MIB), 11 * MIB])
    const { slices, returned } = await sliced(newBook('import'), zip)
    expect(slices.map((entries) => entries.map(({ n }) => n))).toEqual([
      [0, 1],
      [2, 3],
      [4, 5],
      [6, 7],
      [8, 9, 10],
    ])
    expect(new Set(slices.flat().map(({ code }) => code))).toEqual(new Set(['zip.wrong_size', 'zip.too_large']))
    expect(returned).toEqual([])
  })

  it.each([
    [10_000, 1_000],
    [10_001, 500],
  ])('of %i files cuts slices of %i, and so does a download of as many', async (count, most) => {
    const zip = zipOf(liars(count))
    const { slices } = await sliced(newBook('import'), zip)
    const lengths = Array.from({ length: Math.ceil(count / most) }, (_, n) => Math.min(most, count - n * most))
    expect(slices.map(({ length }) => length)).toEqual(lengths)
    const downloaded: number[] = []
    for await (const { entries } of ingestZip(newBook('authority'), zip)) downloaded.push(entries.length)
    expect(downloaded).toEqual(lengths)
  })

  it('is at most 512 MiB: what comes after is refused unopened, also as metadata', async () => {
    const target = newBook('import')
    const [first, last, listed] = [1, 2, 3].map(() => plainOf(random, '2025-01', {})) as [Plain, Plain, Plain]
    const files = [xml(first), ...liars(128), xml(last), { name: 'lista.txt', bytes: txt([listed, 1]) }]
    const results = await resultsOf(target, declaring(zipOf(files), [null, ...Array<number>(128).fill(4 * MIB)]))
    const codeOf = new Map(codesOf(results) as [string, string][])
    expect(codeOf.get(`${first.uuid}.xml`)).toBe('created')
    expect(codeOf.get('0.xml')).toBe('zip.wrong_size')
    for (const name of ['127.xml', `${last.uuid}.xml`, 'lista.txt']) expect(codeOf.get(name)).toBe('zip.too_large')
    expect([...(await rowsOf(target)).keys()]).toEqual([first.uuid])
  })

  it('may be that of a metadata file, which is one file and no CFDI that is too large', async () => {
    const target = newBook('import')
    const documents = Array.from({ length: 100 }, () => plainOf(random, '2025-01', {}))
    const [header, ...rows] = new TextDecoder().decode(txt(...documents.map((document) => [document, 1] as [Plain, 1]))).split('\r\n')
    const wide = encoded([`${header}~Otra`, ...rows.map((row) => `${row}~${'x'.repeat((5 * MIB) / 100)}`)].join('\r\n'))
    const zip = zipOf([
      { name: 'lista.txt', bytes: wide },
      { name: 'terceros.txt', bytes: encoded(`Uuid~RfcACuentaTerceros\r\n${'x'.repeat(5 * MIB)}`) },
    ])
    expect(new Set(codesOf(await resultsOf(target, zip)).map(String))).toEqual(new Set(['lista.txt,created']))
    expect((await rowsOf(target)).size).toBe(100)
  })

  it('is at most 48 MiB of metadata in all, in a download too', async () => {
    const target = newBook('import')
    const documents = [1, 2, 3].map(() => plainOf(random, '2025-01', {}))
    const files = documents.map((document, i) => ({ name: `${i}.txt`, bytes: txt([document, 1]) }))
    const zip = () => declaring(zipOf(files), [25 * MIB, 25 * MIB])
    expect(codesOf(await resultsOf(target, zip()))).toEqual([
      ['0.txt', 'zip.wrong_size'],
      ['1.txt', 'zip.too_large'],
      ['2.txt', 'created'],
    ])
    expect([...(await rowsOf(target)).keys()]).toEqual([documents[2]!.uuid])
    const single = { ...bytesInMemory(txt([documents[0]!, 1])), size: 48 * MIB + 1 }
    expect(codesOf(await ingestUpload(target, single))).toEqual([['upload.txt', 'metadata.too_large']])
    const rowsIn = async (bytes: Uint8Array) => {
      const metadata = new MonthMetadata({ rfc: target.rfc, direction: 0, month: documents[0]!.fecha.slice(0, 7) })
      await metadata.add(bytesInMemory(bytes))
      const rows: string[] = []
      for await (const some of metadata.rowsLeft()) rows.push(...some.map(({ uuid }) => uuid))
      return rows
    }
    await expect(rowsIn(zip())).rejects.toThrow(expect.objectContaining({ code: 'zip.wrong_size' }))
    await expect(rowsIn(declaring(zipOf(files), [50 * MIB]))).rejects.toThrow(expect.objectContaining({ code: 'zip.too_large' }))
    expect(await rowsIn(zipOf(files))).toEqual(documents.map(({ uuid }) => uuid))
  })

  it('may be any for a file, those too at which the inflating buffer grows', async () => {
    for (const size of [1.25 * MIB + 1, 1.25 * MIB + 20_000, 2.5 * MIB + 225, 4 * MIB, 5 * MIB + 1]) {
      const zip = zipOf([{ name: 'a.xml', bytes: new Uint8Array(size).fill(32) }])
      expect(contentOf(zip, (await entriesIn(zip))[0]!, 48 * MIB).length).toBe(size)
    }
  })

  it('may be any for a file that hardly compresses', async () => {
    for (const size of [
      1,
      1_000,
      15_000,
      16_384,
      20_000,
      33_000,
      50_000,
      65_535,
      65_537,
      83_000,
      130_000,
      200_000,
      500_000,
      MIB - 1,
      MIB + 1,
      3 * MIB,
    ]) {
      const bytes = new Uint8Array(size)
      for (let at = 0; at < size; at += 65_536) crypto.getRandomValues(bytes.subarray(at, Math.min(at + 65_536, size)))
      const zip = zipOf([{ name: 'a.xml', bytes }])
      expect([size, contentOf(zip, (await entriesIn(zip))[0]!, 4 * MIB).length]).toEqual([size, size])
    }
  })

  it('is not that of a file that only has to be told from metadata', async () => {
    const many = Array.from({ length: 2_000 }, () => [plainOf(random, '2025-01', {}), 1] as [Plain, 1])
    for (const content of [encoded(xmlOf(many[0]![0])), txt(...many), encoded(' '.repeat(20 * MIB)), encoded('Uuid~')]) {
      const zip = zipOf([{ name: 'a.bin', bytes: content }])
      const start = await startOf(bytesInMemory(zip), (await entriesIn(zip))[0]!)
      expect(start.length).toBeGreaterThanOrEqual(Math.min(content.length, 64))
      expect(start.length).toBeLessThanOrEqual(2 * MIB)
      expect([...start.subarray(0, 64)]).toEqual([...content.subarray(0, 64)])
    }
  })
})

import { env } from 'cloudflare:workers'
import { describe, expect, it } from 'vitest'
import { ingestFile, ingestPackage } from '../src/cfdi/ingest.ts'
import { newBook, rowsOf } from './support/book.ts'
import { type Plain, plainOf, RFC, randomOf, xmlOf } from './support/fixtures.ts'
import { zipOf } from './support/zip.ts'

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

describe('an upload', () => {
  it('of a ZIP may hold XML and metadata: one result a file', async () => {
    const target = newBook('import')
    const [valid, cancelled, known] = [1, 2, 3].map(() => plainOf(random, '2025-01', { metodo: 'PPD' })) as [Plain, Plain, Plain]
    const committed: number[] = []
    const zip = zipOf([
      xml(valid),
      { name: 'lista.txt', bytes: txt([cancelled, 0], [known, 1], [valid, 1]) },
      xml(cancelled),
      { name: 'otra.txt', bytes: txt([valid, 1]) },
    ])
    const sideStatements = ({ entries }: { entries: readonly { n: number }[] }) => {
      committed.push(...entries.map(({ n }) => n))
      return []
    }
    const results = await ingestPackage({ ...target, sideStatements }, zip)
    expect(results.map(({ n, name, status }) => [n, name, status])).toEqual([
      [0, `${valid.uuid}.xml`, 'created'],
      [2, `${cancelled.uuid}.xml`, 'created'],
      [1, 'lista.txt', 'created'],
      [3, 'otra.txt', 'unchanged'],
    ])
    expect(committed).toEqual([0, 2])
    const rows = await rowsOf(target)
    expect([valid, cancelled, known].map(({ uuid }) => rows.get(uuid)?.estatus)).toEqual(['vigente', 'cancelado', 'vigente'])
    expect(await ingestPackage(target, zipOf([{ name: 'nueva.txt', bytes: txt([valid, 0]) }]))).toMatchObject([{ status: 'updated' }])
    expect((await rowsOf(target)).get(valid.uuid)?.estatus).toBe('cancelado')
  })

  it('of one XML or one TXT is one result', async () => {
    const target = newBook('import')
    const [one, other] = [plainOf(random, '2025-01', {}), plainOf(random, '2025-01', {})]
    expect(await ingestFile(target, xml(one).bytes)).toMatchObject([{ n: 0, status: 'created', uuid: one.uuid }])
    expect(await ingestFile(target, xml(one).bytes)).toMatchObject([{ n: 0, status: 'unchanged', uuid: one.uuid }])
    expect(await ingestFile(target, txt([other, 1]))).toMatchObject([{ n: 0, status: 'created', uuid: null }])
    expect(await ingestFile(target, encoded('%PDF-1.7'))).toMatchObject([{ status: 'rejected', code: expect.stringMatching(/^cfdi\./) }])
    expect(await ingestPackage(target, encoded('PK no ZIP'))).toMatchObject([{ status: 'rejected', code: 'zip.no_directory' }])
  })

  it('keeps what is too long to be kept from failing the rest', async () => {
    const target = newBook('import')
    const [good, long, wide] = [1, 2, 3].map(() => plainOf(random, '2025-01', { metodo: 'PPD' })) as [Plain, Plain, Plain]
    const name = xmlOf(long).replace('Nombre="CLIENTE DE PRUEBA"', `Nombre="${'€'.repeat(1_000_000)}"`)
    const pagos = Array.from({ length: 12_000 }, () => ({ uuid: long.uuid, pagado: '0.01', moneda: 'MXN' }))
    const payment = { ...wide, tipo: 'P' as const, metodo: null, pagos: [{ fecha: '2025-01-01T00:00:00', documentos: pagos }] }
    const zip = zipOf([xml(good), { name: `${long.uuid}.xml`, bytes: encoded(name) }, xml(payment)])
    expect((await ingestPackage(target, zip)).map(({ status, code }) => [status, code])).toEqual([
      ['created', null],
      ['rejected', 'cfdi.too_large'],
      ['created', null],
    ])
    const rows = await rowsOf(target)
    expect(rows.get(payment.uuid)?.detail).toBeNull()
    const applied = await env.LEDGER_0.prepare('select count(*) as n from cfdi_payments where entity = ?').bind(target.entity).first('n')
    expect(applied).toBe(12_000)
    expect(rows.get(good.uuid)).toMatchObject({ direction: 0, counterparty_rfc: good.receptor })
    expect(good.emisor).toBe(RFC)
  })
})

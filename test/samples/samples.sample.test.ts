import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readDirectory } from '../../src/cfdi/package/directory.ts'
import { kindOf, type MetadataRow, openMetadata, uuidOfName } from '../../src/cfdi/package/package.ts'
import type { CfdiDocument } from '../../src/cfdi/xml/document.ts'
import { parseCfdi, readCfdi } from '../../src/cfdi/xml/parse.ts'
import { CfdiRejected } from '../../src/cfdi/xml/xml.ts'
import { entriesOf, formatOf, type ListRow, readList, situacionOf } from '../../src/lists/loading/read-list.ts'
import { bytesInMemory } from '../../src/platform/bytes/bytes.ts'
import { contentOf, entriesIn } from '../cfdi/support/entries.ts'

// Real and adversarial files that are not ours to copy: see the README of that folder. Without it there is nothing to try.
const directory = process.env['SAMPLES_DIR']
if (directory === undefined) console.warn('SAMPLES_DIR is not set: the samples are not tried.')
const root = directory ?? '/nonexistent'
const here = directory !== undefined

interface Summary {
  root: string
  version: string
  uuids: (string | null)[]
  fechaTimbrado: (string | null)[]
  emisor: Record<string, string> | null
  receptor: Record<string, string | Record<string, string>> | null
  [field: string]: unknown
}

interface Synthetic {
  wellFormed: boolean | string
  uuid: string | null
  total: string | null
  mustNotUuid?: string
  recoverable?: string
  [field: string]: unknown
}

const json = <T>(path: string): T => JSON.parse(readFileSync(join(root, path), 'utf8')) as T
const bytes = (path: string): Uint8Array => new Uint8Array(readFileSync(join(root, path)))

const xmlFiles = (folder: string): string[] =>
  readdirSync(folder).flatMap((name) => {
    const path = join(folder, name)
    if (statSync(path).isDirectory()) return xmlFiles(path)
    return name.endsWith('.xml') ? [relative(join(root, 'cfdi'), path)] : []
  })

const summaries = here ? json<Record<string, Summary>>('cfdi/expected/derived-summary.json') : {}
const synthetic = here ? json<Record<string, Synthetic>>('cfdi/synthetic/expected.json') : {}
const all = here ? xmlFiles(join(root, 'cfdi')) : []

const attempt = (path: string): CfdiDocument | CfdiRejected => {
  try {
    return parseCfdi(bytes(path))
  } catch (error) {
    if (error instanceof CfdiRejected) return error
    throw error
  }
}

const accepted = (path: string): CfdiDocument => {
  const read = attempt(path)
  if (read instanceof CfdiRejected) throw new Error(`${read.code}: ${read.message}`)
  return read
}

const text = (value: unknown): string | null => (typeof value === 'string' && value.trim().replace(/\s+/g, ' ')) || null
const upper = (value: unknown): string | null => text(value)?.toUpperCase() ?? null
const literal = (value: unknown): string | null => text(value)?.slice(0, 19) ?? null

/** What the summary says, in our terms, as far as it says it. */
const expected = (summary: Summary) => {
  const { emisor, receptor } = summary
  const nacional = receptor?.['Nacional'] as Record<string, string> | undefined
  const extranjero = receptor?.['Extranjero'] as Record<string, string> | undefined
  const old = summary.version === '3.2'
  const tipo = text(summary['tipo'])
  return {
    kind: summary.root === 'Retenciones' ? 'retenciones' : 'cfdi',
    version: text(summary.version),
    uuid: upper(summary.uuids[0]),
    certified_at: literal(summary.fechaTimbrado[0]),
    fecha: literal(summary['fecha']) ?? '',
    serie: text(summary['serie']),
    folio: text(summary['folio']),
    emisor_rfc: upper(emisor?.['Rfc'] ?? emisor?.['rfc'] ?? emisor?.['RFCEmisor'] ?? emisor?.['RfcE']) ?? '',
    emisor_nombre: text(emisor?.['Nombre'] ?? emisor?.['nombre'] ?? emisor?.['NomDenRazSocE']),
    receptor_rfc: extranjero
      ? 'XEXX010101000'
      : (upper(receptor?.['Rfc'] ?? receptor?.['rfc'] ?? nacional?.['RFCRecep'] ?? nacional?.['RfcR']) ?? ''),
    receptor_nombre: text(receptor?.['Nombre'] ?? receptor?.['nombre'] ?? (nacional ?? extranjero)?.['NomDenRazSocR']),
    receptor_num_reg_id_trib: text(receptor?.['NumRegIdTrib'] ?? extranjero?.['NumRegIdTrib'] ?? extranjero?.['NumRegIdTribR']),
    receptor_regimen_fiscal: text(receptor?.['RegimenFiscalReceptor']),
    receptor_domicilio_fiscal: text(receptor?.['DomicilioFiscalReceptor'] ?? nacional?.['DomicilioFiscalR']),
    receptor_residencia_fiscal: text(receptor?.['ResidenciaFiscal']),
    uso_cfdi: text(receptor?.['UsoCFDI']),
    tipo_comprobante: old ? ({ ingreso: 'I', egreso: 'E', traslado: 'T' }[tipo ?? ''] ?? tipo) : tipo,
    total: text(summary['total']),
    subtotal: text(summary['subTotal']),
    descuento: text(summary['descuento']),
    currency: upper(summary['moneda']),
    tipo_cambio: text(summary['tipoCambio']),
    lugar_expedicion: text(summary['lugarExpedicion']),
    forma_pago: text(summary[old ? 'metodoPago' : 'formaPago']),
    metodo_pago: old ? (/una sola/i.test(String(summary['formaPago'])) ? 'PUE' : null) : text(summary['metodoPago']),
    conceptos: summary['conceptos'],
    complementos: [...new Set(summary['complementos'] as string[])].sort(),
    has_addenda: summary['hasAddenda'],
    // The summary leaves those of retenciones out.
    ...(summary.root === 'Comprobante' && {
      relacionados: (summary['relacionados'] as [string, string][]).map(([tipo, uuid]) => [tipo, upper(uuid)]),
    }),
  }
}

const actual = (document: CfdiDocument, keys: string[]): Record<string, unknown> => {
  const flat: Record<string, unknown> = {
    ...document,
    conceptos: document.conceptos.length,
    relacionados: document.relacionados.map(({ tipo_relacion, uuid }) => [tipo_relacion, uuid]),
  }
  return Object.fromEntries(keys.map((key) => [key, flat[key]]))
}

describe.skipIf(!here)('documents that an independent parser reads', () => {
  for (const [path, summary] of Object.entries(summaries)) {
    it(path, () => {
      const wanted = expected(summary)
      const read = readCfdi(bytes(`cfdi/${path}`))
      // Skeletons for tests of other programs: read as far as they say something, but without who issued it to whom nothing to keep.
      if (!wanted['emisor_rfc'] || !wanted['receptor_rfc']) expect(attempt(`cfdi/${path}`)).toMatchObject({ code: 'cfdi.incomplete' })
      expect(actual(read, Object.keys(wanted))).toEqual(wanted)
      expect(read.repairs.includes('several_timbres')).toBe(summary.uuids.length > 1)
      compareParts(read, summary)
    })
  }
})

interface Pagos {
  n: number
  monto: string
  doctos: (string | null)[][]
}

const compareParts = (read: CfdiDocument, summary: Summary): void => {
  const impuestos = summary['impuestos'] as { nT: number; nR: number; trasladados: string | null; retenidos: string | null } | undefined
  if (impuestos !== undefined) {
    expect({
      nT: read.impuestos.traslados.length,
      nR: read.impuestos.retenciones.length,
      trasladados: read.impuestos.total_trasladados,
      retenidos: read.impuestos.total_retenidos,
    }).toEqual({ ...impuestos, trasladados: text(impuestos.trasladados), retenidos: text(impuestos.retenidos) })
  }
  const pagos = summary['pagos'] as Pagos | undefined
  if (pagos !== undefined) {
    expect(read.pagos.length).toBe(pagos.n)
    const doctos = read.pagos.flatMap(({ documentos }) => documentos)
    expect(doctos.map((d) => [d.uuid, d.num_parcialidad, d.moneda_dr, d.imp_saldo_ant, d.imp_saldo_insoluto])).toEqual(
      pagos.doctos.map(([uuid, parcialidad, moneda, anterior, , insoluto]) => [
        upper(uuid) ?? '',
        ...[parcialidad, moneda, anterior, insoluto].map(text),
      ]),
    )
    // What the document leaves out is filled in, by the rule of Pagos 1.0.
    pagos.doctos.forEach((docto, i) => {
      if (text(docto[4]) !== null) expect(doctos[i]?.imp_pagado).toBe(text(docto[4]))
    })
  }
  const nominas = summary['nomina'] as Record<string, string>[] | undefined
  nominas?.forEach((nomina, i) => {
    const { version, num_dias_pagados, total_percepciones, total_deducciones, total_otros_pagos } = read.nominas[i] ?? {}
    expect([version, num_dias_pagados, total_percepciones, total_deducciones, total_otros_pagos]).toEqual([
      nomina['version'],
      ...['NumDiasPagados', 'TotalPercepciones', 'TotalDeducciones', 'TotalOtrosPagos'].map((name) => text(nomina[name])),
    ])
  })
  const totales = summary['totales'] as Record<string, string> | undefined
  if (totales !== undefined) {
    expect(read.retencion).toMatchObject({
      clave: summary['cveRetenc'],
      monto_total_operacion: totales['MontoTotOperacion'] ?? totales['montoTotOperacion'],
      monto_total_gravado: totales['MontoTotGrav'] ?? totales['montoTotGrav'],
      monto_total_exento: totales['MontoTotExent'] ?? totales['montoTotExent'],
      monto_total_retenido: totales['MontoTotRet'] ?? totales['montoTotRet'],
    })
  }
}

describe.skipIf(!here)('adversarial documents', () => {
  const refusals: Record<string, string> = {
    'doctype-': 'cfdi.doctype',
    'duplicate-attribute': 'cfdi.malformed',
    '-empty.': 'cfdi.empty',
    'html-error-page': 'cfdi.html',
  }
  const repairs: Record<string, string> = {
    'double-bom': 'bom',
    'utf8-actually-latin1': 'encoding_fallback',
    'addenda-malformed': 'addenda_cut',
    garbage: 'trimmed_junk',
    'control-char': 'control_characters',
  }
  for (const [file, wanted] of Object.entries(synthetic)) {
    it(`${file}: ${wanted['desc']}`, () => {
      const refusal = Object.entries(refusals).find(([word]) => file.includes(word))?.[1]
      const read = attempt(`cfdi/synthetic/${file}`)
      if (refusal !== undefined) {
        expect(read).toMatchObject({ code: refusal })
        return
      }
      const document = accepted(`cfdi/synthetic/${file}`)
      expect(document.uuid).toBe(upper(wanted.uuid))
      expect(document.total).toBe(wanted.total)
      if (wanted.mustNotUuid) expect(JSON.stringify(document)).not.toContain(wanted.mustNotUuid.toUpperCase())
      const repair = Object.entries(repairs).find(([word]) => file.includes(word))?.[1]
      expect(document.repairs).toEqual(repair === undefined ? [] : [repair])
      expect(Object.keys(Object.prototype)).toEqual([])
      compareExtras(document, wanted)
    })
  }
})

const compareExtras = (document: CfdiDocument, wanted: Synthetic): void => {
  const doctos = document.pagos.flatMap(({ documentos }) => documentos).map((d) => [d.uuid, d.num_parcialidad, d.imp_pagado])
  const read: Record<string, unknown> = {
    receptorNombre: document.receptor_nombre,
    emisorNombre: document.emisor_nombre,
    emisorRfcTrimmed: document.emisor_rfc,
    folio: document.folio,
    serie: document.serie,
    lugarExpedicion: document.lugar_expedicion,
    noCertificado: document.no_certificado,
    descripcion: document.conceptos[0]?.descripcion,
    conceptos: document.conceptos.length,
    relacionados: document.relacionados.map(({ tipo_relacion, uuid }) => [tipo_relacion, uuid.toLowerCase()]),
    pagos: document.pagos.length,
    doctos: doctos.map(([uuid, ...rest]) => [uuid?.toLowerCase(), ...rest]),
  }
  for (const [key, value] of Object.entries(read)) if (wanted[key] !== undefined) expect({ [key]: value }).toEqual({ [key]: wanted[key] })
}

describe.skipIf(!here)('every file, listed or not', () => {
  for (const path of all) {
    it(path, () => {
      const read = attempt(`cfdi/${path}`)
      if (read instanceof CfdiRejected) expect(read.message.length).toBeLessThan(200)
    })
  }
})

async function rowsOf(file: Uint8Array): Promise<MetadataRow[]> {
  const rows: MetadataRow[] = []
  for await (const lines of (await openMetadata(bytesInMemory(file))).lines()) rows.push(...lines.flatMap(({ row }) => row ?? []))
  return rows
}

describe.skipIf(!here)('packages', () => {
  const readAll = async (path: string) => {
    const content = bytes(path)
    return (await entriesIn(content))
      .filter(({ junk }) => !junk)
      .map((entry) => ({ name: entry.name, content: contentOf(content, entry, 4 * 1024 * 1024) }))
  }

  it('metadata.zip holds the rows that are expected, and junk that is not taken for rows', async () => {
    const lists = (await readAll('metadata/metadata.zip')).filter(({ name, content }) => kindOf(name, content) === 'metadata')
    const rows = (await Promise.all(lists.map(({ content }) => rowsOf(content)))).flat()
    const wanted = Object.values(json<Record<string, Record<string, string>>>('metadata/metadata.json'))
    expect(
      rows.map((r) => [r.uuid, r.emisor_rfc, r.receptor_nombre, r.fecha, r.certified_at, r.total, r.tipo_comprobante, r.cancelled]),
    ).toEqual(
      wanted.map((w) => [
        w['uuid'],
        w['rfcEmisor'],
        w['nombreReceptor'],
        w['fechaEmision']?.replace(' ', 'T'),
        w['fechaCertificacionSat']?.replace(' ', 'T'),
        w['monto'],
        w['efectoComprobante'],
        w['estatus'] === '0',
      ]),
    )
  })

  it('metadata-terceros.zip: third parties are told from invoices', async () => {
    const files = await Promise.all(
      (await readAll('metadata/metadata-terceros.zip')).map(async ({ name, content }) => ({
        kind: kindOf(name, content),
        rows: await rowsOf(content),
      })),
    )
    expect(files.map(({ kind }) => kind).sort()).toEqual(['metadata', 'terceros'])
    expect(files.find(({ kind }) => kind === 'metadata')?.rows.length).toBeGreaterThan(0)
    expect(files.find(({ kind }) => kind === 'terceros')?.rows).toEqual([])
  })

  it('cfdi.zip: the two copies of one CFDI are read, junk is passed over, what is no CFDI is refused', async () => {
    const files = (await readAll('metadata/cfdi.zip')).filter(({ name, content }) => kindOf(name, content) === 'xml')
    const copies = files.filter(({ name }) => uuidOfName(name) === 'AAAAAAAA-BBBB-CCCC-DDDD-EEEEEEEEEEEE')
    expect(copies.map(({ content }) => parseCfdi(content).version)).toHaveLength(2)
    for (const { content } of files.filter((file) => !copies.includes(file))) expect(() => parseCfdi(content)).toThrow(CfdiRejected)
  })

  it('an empty package is refused', async () => {
    const empty = bytesInMemory(bytes('metadata/nodecfdi-empty.zip'))
    await expect(readDirectory(empty)).rejects.toThrow(expect.objectContaining({ code: 'zip.no_directory' }))
  })

  it('metadata with a BOM, both line ends, missing and extra columns', async () => {
    const wanted = json<{ rows: number; uuid: string[]; estatus: string[] }>('metadata/synthetic-quirks-crlf-bom.expected.json')
    const rows = await rowsOf(bytes('metadata/synthetic-quirks-crlf-bom.txt'))
    expect(rows.map(({ uuid, cancelled }) => [uuid, cancelled])).toEqual(
      wanted.uuid.map((uuid, i) => [uuid.toUpperCase(), wanted.estatus[i] === '0']),
    )
    expect(rows).toHaveLength(wanted.rows)
    expect(await rowsOf(bytes('metadata/nodecfdi-metadata-extractor.txt'))).toEqual([])
  })
})

const EXCERPT = 'efos/Listado_Completo_69-B.2022-11-30.excerpt-PM'
const QUIRKS = 'efos/synthetic-69-B-quirks'

describe.skipIf(!here)('lists of article 69-B', () => {
  const listOf = (path: string): { list_date: string; rows: ListRow[] } => {
    const { list_date, rows } = readList(bytes(`${path}.latin1.csv`), formatOf('sat_69b', '2026-08-05'), '2026-08-05')
    return { list_date, rows: [...rows] }
  }

  it('the excerpt reads as an independent reader read it, row by row', () => {
    const wanted = json<Record<string, Record<string, unknown>[]>>(`${EXCERPT}.expected.json`)
    const { list_date, rows } = listOf(EXCERPT)
    const read = Object.groupBy(
      rows.map(({ no, rfc, nombre, situacion, steps: { presunto, definitivo } }) => ({
        rfc,
        no: Number(no),
        nombre,
        situacion,
        pub_sat_presunto: presunto!.sat.date,
        pub_dof_presunto: presunto!.dof.date,
        pub_sat_definitivo: definitivo!.sat.date,
        pub_dof_definitivo: definitivo!.dof.date,
      })),
      ({ rfc }) => rfc,
    )
    expect(list_date).toBe('2022-11-30')
    expect(read).toEqual(Object.fromEntries(Object.entries(wanted).map(([rfc, all]) => [rfc, all.map((one) => ({ rfc, ...one }))])))
  })

  it('of the excerpt every RFC is kept, with a date for each step, standing where one of its rows says', () => {
    const { rows } = listOf(EXCERPT)
    const { entries: read, row_count, illegible } = entriesOf(rows)
    const entries = [...read]
    expect([row_count, illegible]).toEqual([rows.length, 0])
    expect(entries.map(({ rfc }) => rfc).sort()).toEqual([...new Set(rows.map(({ rfc }) => rfc))].sort())
    expect(entries.filter(({ has_undated }) => has_undated)).toEqual([])
    for (const { rfc, situacion } of entries)
      expect(rows.filter((row) => row.rfc === rfc).map((row) => situacionOf(row.situacion))).toContain(situacion)
  })

  it('the quirks end as expected', () => {
    const wanted = json<{ as_of: string; rows: number; situations: Record<string, string> }>(`${QUIRKS}.expected.json`)
    const { list_date, rows } = listOf(QUIRKS)
    const { entries, row_count, suppressed } = entriesOf(rows)
    expect([list_date, row_count, suppressed]).toEqual([wanted.as_of, wanted.rows, 1])
    expect(Object.fromEntries([...entries].map(({ rfc, situacion }) => [rfc, situacion]))).toEqual(
      Object.fromEntries(Object.entries(wanted.situations).map(([rfc, text]) => [rfc, situacionOf(text.replace(/ \(.*/, ''))])),
    )
  })
})

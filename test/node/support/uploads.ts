import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import type { Customer } from '../../../scripts/customer.ts'
import { zipOf } from '../../support/zip.ts'

export interface Counts {
  created: number
  updated: number
  unchanged: number
  rejected: number
}

const WITHIN = 900_000

const utf8 = new TextEncoder()
const SEAL = 'A'.repeat(340)
const LINE =
  '<cfdi:Concepto ClaveProdServ="84111506" Cantidad="1" ClaveUnidad="E48" Descripcion="Servicio" ValorUnitario="1.00" Importe="1.00" ObjetoImp="01"/>'

/** An invoice with so many lines and, in its Addenda, so many bytes that hardly compress. */
export function invoiceOf(rfc: string, lines: number, ballast = 0): { name: string; bytes: Uint8Array } {
  const uuid = randomUUID().toUpperCase()
  const addenda = ballast === 0 ? '' : `<cfdi:Addenda>${randomBytes(ballast).toString('base64')}</cfdi:Addenda>`
  const text =
    '<?xml version="1.0" encoding="UTF-8"?><cfdi:Comprobante xmlns:cfdi="http://www.sat.gob.mx/cfd/4" Version="4.0" ' +
    `Fecha="2025-03-04T10:11:12" Sello="${SEAL}" SubTotal="100.00" Moneda="MXN" Total="116.00" TipoDeComprobante="I" Exportacion="01" ` +
    `MetodoPago="PPD" FormaPago="99" LugarExpedicion="06600"><cfdi:Emisor Rfc="${rfc}" Nombre="EMPRESA" RegimenFiscal="601"/>` +
    '<cfdi:Receptor Rfc="BBB020202BB1" Nombre="CLIENTE" DomicilioFiscalReceptor="06600" RegimenFiscalReceptor="601" UsoCFDI="G03"/>' +
    `<cfdi:Conceptos>${LINE.repeat(lines)}</cfdi:Conceptos><cfdi:Complemento><tfd:TimbreFiscalDigital ` +
    `xmlns:tfd="http://www.sat.gob.mx/TimbreFiscalDigital" Version="1.1" UUID="${uuid}" FechaTimbrado="2025-03-04T10:11:12" ` +
    `RfcProvCertif="SPR190613I52" SelloCFD="${SEAL}" NoCertificadoSAT="30001000000500003456" SelloSAT="${SEAL}"/></cfdi:Complemento>` +
    `${addenda}</cfdi:Comprobante>`
  return { name: `${uuid}.xml`, bytes: utf8.encode(text) }
}

const HEADER =
  'Uuid~RfcEmisor~NombreEmisor~RfcReceptor~NombreReceptor~RfcPac~FechaEmision~FechaCertificacionSat~Monto~EfectoComprobante~Estatus~FechaCancelacion'

/** Metadata of so many documents; one of twenty is cancelled. */
export const metadataOf = (rfc: string, rows: number): Uint8Array =>
  utf8.encode(
    [
      HEADER,
      ...Array.from({ length: rows }, (_, i) => {
        const day = `2025-0${1 + (i % 9)}-11`
        const status = i % 20 === 0 ? '0~2025-11-01 10:00:00' : '1~'
        return `${randomUUID()}~${rfc}~EMPRESA DE PRUEBA~BBB020202BB1~CLIENTE ${i % 977}~SPR190613I52~${day} 10:20:30~${day} 10:20:39~${i % 10_000}.16~${'IIIPE'[i % 5]}~${status}`
      }),
      '',
    ].join('\r\n'),
  )

/** A ZIP of at most so many bytes of invoices, each with so many bytes that hardly compress. */
export function filled(rfc: string, ballast: number, bytes: number): { files: Uint8Array; count: number } {
  const zipped = (count: number) => zipOf(Array.from({ length: count }, () => invoiceOf(rfc, 2, ballast)))
  const count = Math.floor((0.999 * bytes * 50) / zipped(50).length)
  return { files: zipped(count), count }
}

/** Imports a file into a connection, and returns the counts of the completed import. */
export async function importFile(customer: Customer, fiscal_entity_id: string, bytes: Uint8Array): Promise<Counts> {
  const { api_key, api_secret } = customer.credential
  const path = `/v1/fiscal-entities/${fiscal_entity_id}/cfdi/imports`
  const response = await fetch(customer.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/octet-stream', authorization: `Basic ${btoa(`${api_key}:${api_secret}`)}` },
    body: bytes as BufferSource,
  })
  const body = (await response.json()) as { import_id: string }
  expect([response.status, body]).toEqual([202, expect.anything()])
  for (const end = Date.now() + WITHIN; Date.now() < end; await sleep(200)) {
    const { status, counts } = await customer.ask<{ status: string; counts: Counts }>('GET', `${path}/${body.import_id}`)
    if (status === 'completed') return counts
  }
  throw new Error('The import is not completed.')
}

/** Makes an export, waits until it is ready, and returns how many documents it has. */
export async function exportOf(customer: Customer, wanted: { fiscal_entity_id: string; kind: string; format: string }): Promise<number> {
  const { export_id } = await customer.ask<{ export_id: string }>('POST', '/v1/exports', wanted)
  for (const end = Date.now() + WITHIN; Date.now() < end; await sleep(500)) {
    const { status, documents } = await customer.ask<{ status: string; documents: number }>('GET', `/v1/exports/${export_id}`)
    if (status === 'ready') return documents
  }
  throw new Error('The export is not ready.')
}

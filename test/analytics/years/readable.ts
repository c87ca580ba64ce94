import { parseCfdi } from '../../../src/cfdi/xml/parse.ts'
import { exact, micros, sum } from '../oracle/amounts.ts'
import { unsubstituted } from '../oracle/counting.ts'
import { DEFAULT_RULES, rateTable } from '../oracle/rules.ts'
import type { Document, World } from '../oracle/world.ts'
import { documentOf } from '../support/documents.ts'
import type { Year, YearDocument } from './year.ts'

const utf8 = new TextEncoder()

/**
 * A document of a year as the API would answer it, without a service: for the oracle's own tests. Places of issue are taken to be in central
 * Mexico, and balances are left out, because the oracle computes them.
 */
function readableOf({ uuid, direction, fecha, xml, listed, isMetadataOnly }: YearDocument): Document {
  const party = direction === 'issued' ? listed.receptor_rfc : listed.emisor_rfc
  const { cancelled_at, cancellation_reason, folio_sustitucion, certified_at, kind, tipo_comprobante, emisor_rfc, receptor_rfc } = listed
  const status = {
    ...{ estatus: listed.cancelled ? 'cancelado' : 'vigente', cancelled_at: cancelled_at && `${cancelled_at}-06:00` },
    ...{ cancellation_reason, folio_sustitucion, issued_at: `${fecha}-06:00`, fecha, certified_at, kind, emisor_rfc, receptor_rfc },
    counterparty: { rfc: party, nombre: direction === 'issued' ? listed.receptor_nombre : listed.emisor_nombre, blacklist: null },
  } as Partial<Document>
  const plain = documentOf(uuid, fecha.slice(0, 10), { direction, party, ...status })
  if (isMetadataOnly)
    return {
      ...plain,
      ...{
        tipo_comprobante: tipo_comprobante as Document['tipo_comprobante'],
        has_xml: false,
        version: null,
        currency: null,
        moneda: null,
      },
      ...{ total: listed.total, subtotal: null, descuento: null, metodo_pago: null, forma_pago: null, uso_cfdi: null, impuestos: null },
      ...{ receptor_regimen_fiscal: null, emisor_regimen_fiscal: null },
    }
  const { utc_offset: _, uuid: __, impuestos, conceptos, ...read } = parseCfdi(utf8.encode(xml))
  return {
    ...{ ...plain, ...(read as unknown as Partial<Document>), ...status, conceptos, impuestos },
    moneda: read.currency,
    total: read.total ?? read.retencion?.monto_total_operacion ?? null,
    ...(read.tipo_comprobante === 'N' && { isr_retenido: exact(sum(read.nominas.map(({ isr_retenido }) => micros(isr_retenido)))) }),
  } as Document
}

/** What an organization without extractors reads of a year. */
export function worldOfYear(year: Year): World {
  const documents = year.documents.map(readableOf)
  const valid = documents.filter((one) => one.kind === 'cfdi' && one.estatus === 'vigente')
  const counted = unsubstituted(valid)
  for (const one of valid) one.is_substituted = !counted.has(one.uuid)
  const { rfc, today, lists, repse, intercompany, rates } = year
  return {
    ...{ rfc, documents, today, now: Date.parse(`${today}T22:00:00-06:00`), rules: () => DEFAULT_RULES, rates: rateTable(rates) },
    ...{ lists, repse, intercompany, returns: [], opinions: [] },
  }
}

import type { Rules } from '../../authority/rules/dated.ts'
import { withholdingClassOf } from '../../authority/rules/withholding-classes.ts'
import { publishedOn } from '../../lists/listing-status.ts'
import type { Listing } from '../../lists/listings/listing.ts'
import { decimal, micros } from '../../platform/money.ts'
import { expectedOf, mainKeyOf } from './expected.ts'
import { bitOf, FLAG_CODES, type FlagCode } from './flags.ts'
import type { Related } from './related.ts'
import { LISTS, type Sets } from './sets.ts'
import type { RiskyDocument } from './store.ts'

type Evidence = Record<string, unknown>
export interface Known extends Pick<Sets, 'listings' | 'lapsed'> {
  rules: Rules
  today: string
}

/** The listing behind a flag: its first publication, that of its situation in the Diario Oficial, and whether the document is older. */
const listed =
  (set: keyof typeof LISTS) =>
  ({ counterparty_rfc, fecha }: RiskyDocument, { listings }: Known): Evidence => {
    const hit = listings.get(counterparty_rfc)?.find((one: Listing) => one.is_active && LISTS[set](one))
    if (!hit) return {}
    const first = hit.history.find(({ situacion }) => situacion === 'presunto' || situacion === 'definitivo') ?? hit.history[0]
    const since = (first && publishedOn(first)) ?? hit.since
    return {
      ...{ source: hit.source, situacion: hit.situacion, listed_at: since, dof_at: hit.published_dof_at },
      issued_before_listing: since === null ? null : fecha.slice(0, 10) < since,
    }
  }

const pick =
  <Name extends keyof RiskyDocument>(...names: Name[]) =>
  (row: RiskyDocument): Evidence =>
    Object.fromEntries(names.map((name) => [name, row[name]]))

/** The UUIDs of other documents. */
const uuids =
  (name: string, column: keyof Related) =>
  (row: RiskyDocument): Evidence => ({ [name]: (JSON.parse(row[column] ?? '[]') as string[]).sort() })

/** What each flag says, the provision behind it, and what it rests on. */
const SAID: Record<FlagCode, readonly [message: string, rule_ref: string, evidence: (row: RiskyDocument, known: Known) => Evidence]> = {
  counterparty_69b_definitivo: ['The counterparty is definitively on the list of article 69-B.', 'CFF 69-B', listed('list_definitivo')],
  counterparty_69b_presunto: ['The counterparty is presumed to invoice operations that do not exist.', 'CFF 69-B', listed('list_presunto')],
  counterparty_69b_bis: ['The counterparty is on the list of article 69-B Bis.', 'CFF 69-B Bis', listed('list_bis')],
  csd_sin_efectos: ['The authority left the counterparty’s seal certificates without effect.', 'CFF 17-H', listed('list_csd')],
  counterparty_69: ['The counterparty is on a list of article 69.', 'CFF 69', listed('list_69')],
  cancelled_after_payment: [
    'The invoice was cancelled although it was paid or counted as income.',
    'CFF 29-A',
    pick('metodo_pago', 'cancelled_at', 'cancellation_reason', 'folio_sustitucion'),
  ],
  cancellation_in_process: ['The receiver has not answered a request for cancellation yet.', 'CFF 29-A', () => ({})],
  sat_not_found: ['The authority does not find the document.', 'CFF 29', pick('certified_at')],
  ppd_missing_complement: [
    'A balance is open, and no complement has paid it in time.',
    'RMF 2.7.1.32',
    ({ fecha }, { today }) => ({ age_days: (Date.parse(today) - Date.parse(fecha.slice(0, 10))) / 86_400_000 }),
  ],
  complement_late: ['The complement was stamped after its due day.', 'RMF 2.7.1.32', pick('first_paid_on', 'certified_at')],
  complement_cancelled: [
    'A complement that paid the invoice was cancelled, and its balance is open again.',
    'RMF 2.7.1.32',
    uuids('cancelled_complements', 'cancelled_complements'),
  ],
  pue_forma_99: ['An invoice that is paid at once must state how.', 'Anexo 20', pick('metodo_pago', 'forma_pago')],
  ppd_forma_not_99: ['An invoice that is paid later must state the form 99.', 'Anexo 20', pick('metodo_pago', 'forma_pago')],
  cash_over_2000: [
    'It was paid in cash, above the limit up to which cash can be deducted.',
    'LISR 27-III',
    ({ fecha, forma_pago, pesos }, { rules }) => ({
      forma_pago,
      total_mxn: decimal(BigInt(pesos)),
      limit: decimal(micros(rules.on(fecha.slice(0, 10)).get('cash.threshold'))!),
    }),
  ],
  withholding_missing: ['What is withheld differs from what its class requires.', 'LISR 106, 116; RLIVA 3', withheld],
  repse_not_valid_at_payment: [
    'The supplier had no valid REPSE registration when it was paid.',
    'LFT 15; LISR 27-V',
    ({ counterparty_rfc }, { lapsed }) => {
      const one = lapsed.get(counterparty_rfc)
      return { is_registered: one?.is_registered === 1, vigencia_hasta: one?.vigencia_hasta ?? null }
    },
  ],
  duplicate_suspected: [
    'Another invoice of the day has the same parties, total and currency.',
    'LISR 27-XVIII',
    ({ fecha }) => ({ day: fecha.slice(0, 10) }),
  ],
  substituted_not_cancelled: [
    'A newer document substitutes it, but it is not cancelled.',
    'CFF 29-A',
    uuids('substituted_by', 'substitutes'),
  ],
  receptor_regimen_uso_invalid: ['The use is not open to the receiver’s regime.', 'c_UsoCFDI', pick('uso_cfdi', 'receptor_regimen_fiscal')],
  metadata_only: ['Only metadata is known: its XML was not downloaded.', 'CFF 30', pick('estatus', 'certified_at')],
}

/** What is expected to be withheld of an invoice, and what it states, in its currency. */
function withheld(row: RiskyDocument, { rules: all }: Known): Evidence {
  const rules = all.on(row.fecha.slice(0, 10))
  const clave = mainKeyOf(row.products)
  const found = withholdingClassOf(rules, { isPerson: row.emisor_rfc.length === 13, regimen: row.emisor_regimen_fiscal, clave })
  if (found === null) return {}
  const net = (micros(row.subtotal) ?? 0n) - (micros(row.descuento) ?? 0n)
  const { isr, iva } = expectedOf(found, net, BigInt(row.iva_trasladado ?? 0))
  return {
    ...{ concept_class: found.class, expected_isr: isr === null ? null : decimal(isr), expected_iva: iva === null ? null : decimal(iva) },
    ...{ isr_retenido: decimal(row.isr_retenido ?? '0'), iva_retenido: decimal(row.iva_retenido ?? '0') },
  }
}

/** The codes of a mask with what each says. */
export const saidOf = (row: RiskyDocument, known: Known) =>
  FLAG_CODES.filter((code) => (row.mask & bitOf(code)) !== 0).map((code) => {
    const [message, rule_ref, evidence] = SAID[code]
    return { code, message, rule_ref, evidence: evidence(row, known) }
  })

import type { Basis } from '../common/contract.ts'
import { REPSE_NOTE } from '../common/names.ts'

export const BASIS: Omit<Basis, 'rules'> = {
  formulas: {
    cobrado:
      'Σ bases and IVA by rate of the cash events of issued documents: PUE on the day of Fecha, PPD by complements on FechaPago; E are negative.',
    pagado: 'The same of received documents.',
    devengado: 'Σ IVA of type I − E by Fecha.',
    prorrateo:
      '(base_16 + base_8 + base_0 + base_otras) ÷ (the same + base_exento) of cobrado, never below 0 or above 1; 1 without exempt sales',
    acreditable: '(IVA of pagado − no_deducible_excluded) × prorrateo − retenido_a_terceros + retenido_a_terceros of the month before',
    saldo: 'IVA of cobrado − acreditable − retenido_por_clientes',
    pendiente:
      'Σ IVA × balance ÷ total of PPD invoices, as of the end of the month: less what was paid and credited until then. Documents count as they do now',
    diferencia: 'saldo − (iva_a_cargo − iva_a_favor)',
    no_deducible_excluded:
      'IVA paid in cash above the limit, for fuel without an electronic payment, of uso S01, or to definitive 69-B issuers',
    at_risk:
      'IVA to presumed 69-B issuers, and to suppliers without valid REPSE registration on the day of payment: of what no_deducible_excluded does not hold already, and not excluded itself',
  },
  notes: [
    'LIVA 1-B and 5: IVA counts when it is paid. A credit note (E, PUE) counts on its own Fecha, also where the invoice that it credits is not paid: credit_notes_of_unpaid of data_quality counts these. Taxes of a complement are its own, else in proportion to its invoice.',
    'MXN at the TipoCambio of the document or payment, else the rate published the day before (CFF 20).',
    'What was withheld from third parties the month before is taken as paid to the authority, as far as it is known. data_quality speaks of the months of the range: let from begin one month earlier to see whether that month is known.',
    'acreditable, saldo, resultado and diferencia are null for a month of which nothing issued, or nothing received, is known: data_status says why. Of a direction that is missing, zeros are unknown.',
    'A paid part counts as its complement states it, also above the total of its invoice, and on its FechaPago, also when that is still to come.',
    REPSE_NOTE,
    'prorrateo is rounded to six places and multiplied as such. Each amount is rounded once, from six places: a figure can differ by a cent from what the rounded amounts beside it give.',
    'CFDIs de retenciones are not counted here; GET /v1/cfdi/withholdings counts them.',
  ],
}

import type { Basis } from '../common/contract.ts'

export const BASIS: Omit<Basis, 'rules'> = {
  formulas: {
    amount: 'The tax that a cash event withholds: PUE on the day of Fecha, PPD by complements on FechaPago; payroll on its FechaPago',
    base: 'subtotal − descuento of what is paid; of payroll what is taxed, of retenciones what they state',
    expected_amount: 'The rule of the class × base or IVA; only of what is billed to companies',
    missing_amount: 'Σ expected_amount − amount where the difference exceeds the tolerance and less is withheld',
    isr_por_enterar: 'Σ ISR of role withheld_by_us; iva_por_enterar alike',
    isr_a_favor: 'Σ ISR of role withheld_from_us; iva_a_favor alike',
  },
  notes: [
    'The class follows from the issuer’s regime and the product key with the largest amount. It is proposed by this service.',
    'due_date is the day of the next month by law, or the next business day after a weekend or holiday, as that of an obligation; without the extension by the sixth digit of the RFC.',
  ],
}

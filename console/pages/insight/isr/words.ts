import { WORDS } from '../../../../src/analytics/isr/words.ts'

const es = {
  ...WORDS.es,
  lead: 'El ISR de un mes, renglón por renglón, junto a lo que se declaró.',
  month: 'Mes',
  regimen: 'Régimen',
  inputs: {
    coefficient: 'Coeficiente de utilidad',
    other_deductions: 'Otras deducciones',
    losses: 'Pérdidas por aplicar',
    ptu: 'PTU pagada',
    earlier_payments: 'Pagos anteriores',
  },
  hints: {
    coefficient: 'El del último ejercicio que lo tuvo, con hasta cuatro decimales (LISR 14-I).',
    other_deductions: 'Lo que se deduce desde enero y ningún proveedor facturó, como nómina, importaciones y depreciación.',
    losses: 'Las pérdidas de ejercicios anteriores que faltan por aplicar.',
    ptu: 'La PTU pagada en el ejercicio.',
    earlier_payments:
      'Los pagos provisionales de los meses anteriores del ejercicio. Sin este dato se toman los que declaran las declaraciones visibles.',
  },
  amountFault: 'Escriba un importe con dos decimales cuando más.',
  coefficientFault: 'Escriba un número de 0 a 1.9999, con cuatro decimales cuando más.',
  partial: 'Estimado: no se ve todo el periodo',
  differenceNote: 'A pagar − ISR a cargo de la declaración',
  unknown: 'De algún mes del periodo faltan documentos: sus ceros no son ceros, y por eso no hay importe a pagar.',
  table: 'Cómo se calcula',
  tableLead: 'Cada importe de documentos lleva a ellos.',
  files: 'Con sus documentos',
  filesLead: 'El cálculo junto con los documentos de cada renglón.',
  formats: { pdf: 'PDF', xlsx: 'Excel' },
}
const en: typeof es = {
  ...WORDS.en,
  lead: 'The ISR of a month, line by line, beside what was declared.',
  month: 'Month',
  regimen: 'Regime',
  inputs: {
    coefficient: 'Coefficient of utility',
    other_deductions: 'Other deductions',
    losses: 'Losses to be deducted',
    ptu: 'Profit sharing paid',
    earlier_payments: 'Earlier payments',
  },
  hints: {
    coefficient: 'That of the last year that had one, with at most four decimals (LISR 14-I).',
    other_deductions: 'What is deducted since January and no supplier invoiced, such as wages, imports and depreciation.',
    losses: 'Losses of earlier years that are still to be deducted.',
    ptu: 'The profit sharing (PTU) that was paid in the year.',
    earlier_payments:
      'The provisional payments of the earlier months of the year. Without it, those that the visible returns declare are taken.',
  },
  amountFault: 'Write an amount with at most two decimals.',
  coefficientFault: 'Write a number from 0 to 1.9999 with at most four decimals.',
  partial: 'Estimate: not all of the period is shown',
  differenceNote: 'To be paid − ISR of the return',
  unknown: 'Documents of a month of the period are missing: its zeros are not zeros, and so there is no amount to be paid.',
  table: 'How it is computed',
  tableLead: 'Each amount of documents leads to them.',
  files: 'With its documents',
  filesLead: 'The computation together with the documents of each line.',
  formats: { pdf: 'PDF', xlsx: 'Excel' },
}
/** `formulas` are named as the lines are. */
const named = <T extends { lines: Record<string, string> }>(of: T) => ({ ...of, formulas: of.lines })
export const words = { es: named(es), en: named(en) }

import type { ReportKey } from '../../../api/routes.d.ts'

/** The catalog of the API speaks Spanish. */
type Translated = Partial<Record<ReportKey, readonly [title: string, description: string]>>

const es = {
  title: 'Reportes',
  lead: 'Cifras de toda la historia del RFC, listas para leer o descargar.',
  translated: {} as Translated,
  none: 'No hay reportes',
}
const en: typeof es = {
  title: 'Reports',
  lead: 'Figures on the whole history of the RFC, ready to be read or downloaded.',
  translated: {
    'fiscal-summary': [
      'Fiscal summary by year',
      'Income, expenses, IVA charged, creditable and withheld, ISR withheld and payroll of each year.',
    ],
    'revenue-expenses': [
      'Revenue and expenses by month',
      'Revenue, expenses, cost of goods, payroll and gross margin of each month, as CFDIs say.',
    ],
    'annual-comparison': [
      'Annual comparison',
      'What was issued, received and cancelled in each month, beside the same month of the year before.',
    ],
    'counterparty-network': [
      'Network of counterparties',
      'Customers and suppliers with their amounts, shares, active months and the lists that name them today.',
    ],
    cancellations: ['Cancellations', 'Cancelled CFDIs by reason: how many, how much, how late, and how many after their month had closed.'],
    'payment-behavior': [
      'Payment behaviour',
      'PPD invoices by counterparty: what was paid, days to pay, punctuality, installments and open balances.',
    ],
    diot: ['DIOT', 'What was paid to each supplier by month: bases and IVA by rate, and IVA withheld.'],
    compliance: ['Compliance', 'Opinions 32-D, changes of the tax status, obligations by period, and certificates that expire.'],
    payroll: ['Payroll', 'Receipts paid by month: people, perceptions, deductions, ISR and the average integrated daily wage.'],
  },
  none: 'There are no reports',
}
export const words = { es, en }

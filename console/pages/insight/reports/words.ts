import type { ReportKey } from '../../../api/routes.d.ts'

/** The catalog of the API speaks Spanish. */
type Translated = Partial<Record<ReportKey, readonly [title: string, description: string]>>

const es = {
  title: 'Reportes',
  lead: 'Cifras de toda la historia del RFC, para leer o descargar.',
  bounded: (rfc: string) => `Los reportes necesitan toda la historia de ${rfc}`,
  boundedLead:
    'Su organización ve hoy solo una parte, y por eso ningún reporte se abre. Cree un extractor de CFDI emitidos y recibidos con alcance de toda la historia: antes de guardarlo verá qué traería. Una organización sin ningún extractor también lo ve todo.',
  waiting: (name: string) =>
    `Su organización ve hoy solo una parte. Su extractor «${name}» pide toda la historia: los reportes se abren cuando corra para este RFC.`,
  preview: 'Ver qué traería un extractor así',
  seeExtractor: 'Ver el extractor',
  translated: {} as Translated,
  none: 'No hay reportes',
}
const en: typeof es = {
  title: 'Reports',
  lead: 'Figures on the whole history of the RFC, to be read or downloaded.',
  bounded: (rfc) => `Reports need the whole history of ${rfc}`,
  boundedLead:
    'Your organization sees only a part today, and so no report opens. Make an extractor of issued and received CFDIs with the scope of the full history: you see what it would bring before you save it. An organization without any extractor sees everything, too.',
  waiting: (name) =>
    `Your organization sees only a part today. Your extractor “${name}” asks for the full history: reports open when it runs for this RFC.`,
  preview: 'See what such an extractor would bring',
  seeExtractor: 'See the extractor',
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

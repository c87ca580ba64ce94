import * as z from 'zod'
import { Id, Instant, Paging } from '../../platform/http/shapes.ts'
import { INVOICE_STATUSES } from './tables.ts'

export const Amount = z.string().meta({ description: 'A decimal amount with two places.', examples: ['1160.00'] })

export const Invoice = z
  .strictObject({
    invoice_id: Id('inv'),
    number: z.string(),
    period: z.string().meta({ description: 'The local month that it is for.', examples: ['2026-05'] }),
    subtotal: Amount,
    tax: Amount,
    total: Amount,
    currency: z.string(),
    status: z.enum(INVOICE_STATUSES),
    issued_at: Instant,
    due_at: Instant.meta({ description: 'The same as issued_at.' }),
    grace_until: Instant.meta({ description: 'The first moment of the third local day after it was due.' }),
    is_overdue: z.boolean().meta({ description: 'Open, and its day is over.' }),
    paid_at: Instant.nullable(),
    pdf_url: z.string().nullable().meta({
      description: 'Where the payment provider has it as a PDF. Null until the provider was told, and where an operator collects.',
    }),
    rule_ref: z.string().nullable().meta({ description: 'The price list that it was made by.' }),
  })
  .meta({ id: 'Invoice' })
export type Invoice = z.infer<typeof Invoice>

export const InvoiceQuery = z.strictObject(Paging)
export type InvoiceQuery = z.infer<typeof InvoiceQuery>

export const InvoicePath = z.strictObject({ invoice_id: Id('inv') })

import * as z from 'zod'
import { Id, Instant, Paging } from '../../../platform/http/shapes.ts'
import { INVOICE_STATUSES } from '../../tables.ts'

export const Amount = z.string().meta({ description: 'A decimal amount with two places.', examples: ['1160.00'] })

export const Invoice = z
  .strictObject({
    invoice_id: Id('inv'),
    number: z.string().meta({ description: 'Sequential number within the organization.', examples: ['000001'] }),
    period: z.string().meta({ description: 'The month that the invoice is for, in the organization’s time zone.', examples: ['2026-05'] }),
    subtotal: Amount,
    tax: Amount,
    total: Amount,
    currency: z.string(),
    status: z.enum(INVOICE_STATUSES),
    issued_at: Instant,
    due_at: Instant.meta({ description: 'The same as issued_at.' }),
    grace_until: Instant.meta({
      description: 'The end of the grace period: the first moment of the third calendar day after the due day.',
    }),
    is_overdue: z.boolean().meta({ description: 'Whether the invoice is open after its due day.' }),
    paid_at: Instant.nullable(),
    pdf_url: z.string().nullable().meta({
      description:
        'URL of the PDF at the payment provider. Null until the provider has the invoice, and when an operator collects payments.',
    }),
    rule_ref: z
      .string()
      .nullable()
      .meta({ description: 'Reference of the price list. Null when the invoice was not issued from a price list.' }),
  })
  .meta({ id: 'Invoice' })
export type Invoice = z.infer<typeof Invoice>

export const InvoiceQuery = z.strictObject(Paging)
export type InvoiceQuery = z.infer<typeof InvoiceQuery>

export const InvoicePath = z.strictObject({ invoice_id: Id('inv') })

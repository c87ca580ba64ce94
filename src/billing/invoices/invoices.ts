import { notFound } from '../../failures.ts'
import { change } from '../../platform/audit/audit.ts'
import type { Ctx } from '../../platform/context.ts'
import type { Statement } from '../../platform/db/commit.ts'
import { openCursor, pageOf } from '../../platform/paging/cursor.ts'
import { localDayOf } from '../../platform/time/calendar.ts'
import type { Invoice, InvoiceQuery } from '../contract.ts'
import { graceEnd } from '../subscription/status.ts'
import { findSubscription } from '../subscription/subscription-store.ts'
import { decided, followed, followSubscription } from '../subscription/suspension.ts'
import { findInvoice, type InvoiceRow, insertInvoice, listInvoiceRows, listOpen, markPaid } from './invoice-store.ts'

const viewWith =
  ({ organization: { timezone }, now }: Ctx) =>
  (row: InvoiceRow): Invoice => ({
    invoice_id: row.invoice_id,
    number: String(row.sequence).padStart(6, '0'),
    period: row.period,
    subtotal: row.subtotal,
    tax: row.tax,
    total: row.total,
    currency: row.currency,
    status: row.status,
    issued_at: row.issued_at.toISOString(),
    due_at: row.issued_at.toISOString(),
    grace_until: graceEnd(row.due_on, timezone).toISOString(),
    is_overdue: row.status === 'open' && localDayOf(now, timezone) > row.due_on,
    paid_at: row.paid_at?.toISOString() ?? null,
    pdf_url: row.pdf_url,
    rule_ref: row.rule_ref,
  })

async function requireInvoice({ db, organization }: Ctx, invoice_id: string): Promise<InvoiceRow> {
  const row = await findInvoice(db, organization.id, invoice_id)
  if (!row) throw notFound('invoice')
  return row
}

/** One invoice of the organization; 404. */
export const getInvoice = async (ctx: Ctx, invoice_id: string): Promise<Invoice> => viewWith(ctx)(await requireInvoice(ctx, invoice_id))

/** The organization's invoices, newest first. */
export async function listInvoices(ctx: Ctx, query: InvoiceQuery) {
  const scope = { list: 'invoices', filters: query }
  const [before] = (await openCursor(ctx, scope, query.cursor)) ?? []
  const rows = await listInvoiceRows(ctx.db, ctx.organization.id, before === undefined ? undefined : Number(before), query.limit + 1)
  return pageOf(ctx, scope, query.limit, rows, (row) => [row.sequence], viewWith(ctx))
}

/** Adds an open invoice to the organization. */
export async function addInvoice(
  ctx: Ctx,
  action: string,
  draft: Omit<Parameters<typeof insertInvoice>[1], 'organization_id' | 'review_at'>,
): Promise<Invoice> {
  const { id, timezone } = ctx.organization
  const row = { ...draft, organization_id: id, review_at: graceEnd(draft.due_on, timezone) }
  await change(ctx, { action, resource_id: row.invoice_id }, [insertInvoice(ctx.db, row)])
  return getInvoice(ctx, row.invoice_id)
}

/** What is left due when one invoice is paid. */
async function oldestOther({ db, organization }: Ctx, { invoice_id }: InvoiceRow): Promise<string | null> {
  const open = await listOpen(db, organization.id)
  return open.find((one) => one.invoice_id !== invoice_id)?.due_on ?? null
}

/**
 * Records that an invoice was paid, and answers whether it was open; one that is not stays as it is. When nothing else keeps the
 * organization suspended, what the suspension paused is active again and its extractors run, in the same commit. 404.
 */
export const payInvoice = (ctx: Ctx, invoice_id: string, action = 'invoice.paid', also: readonly Statement[] = []): Promise<boolean> =>
  decided(async () => {
    const row = await requireInvoice(ctx, invoice_id)
    if (row.status !== 'open') return false
    const read = (await findSubscription(ctx.db, ctx.organization.id))!
    const settled = await followSubscription(ctx, read, { ...read, oldest_due: await oldestOther(ctx, row) })
    await change(ctx, { action, resource_id: invoice_id, changed: ['status'] }, [
      ...also,
      markPaid(ctx.db, row, ctx.now),
      ...settled.statements,
    ])
    await followed(ctx, settled)
    return true
  })

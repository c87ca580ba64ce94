import { change } from '../../../platform/audit/audit.ts'
import type { Ctx } from '../../../platform/context.ts'
import type { Statement } from '../../../platform/db/commit.ts'
import { notFound } from '../../../platform/failures.ts'
import { listPage } from '../../../platform/paging/cursor.ts'
import { localDayOf } from '../../../platform/time/calendar.ts'
import { graceEnd } from '../subscription/status.ts'
import { commitBillingChange, effectsOf, getSubscription, type Resume, runAfterCommit } from '../subscription/subscription.ts'
import type { Invoice, InvoiceQuery } from './contract.ts'
import { assertInvoiceOpen, findInvoice, type InvoiceRow, insertInvoice, listInvoiceRows, listOpenInvoices, markPaid } from './store.ts'

const viewWith =
  ({ organization: { timezone }, now }: Ctx) =>
  (row: InvoiceRow): Invoice => ({
    ...{ invoice_id: row.invoice_id, number: String(row.sequence).padStart(6, '0'), period: row.period },
    ...{ subtotal: row.subtotal, tax: row.tax, total: row.total, currency: row.currency, status: row.status },
    issued_at: row.issued_at.toISOString(),
    due_at: row.issued_at.toISOString(),
    grace_until: graceEnd(row.due_on, timezone).toISOString(),
    is_overdue: row.status === 'open' && localDayOf(now, timezone) > row.due_on,
    ...{ paid_at: row.paid_at?.toISOString() ?? null, pdf_url: row.pdf_url, rule_ref: row.rule_ref },
  })

async function requireInvoice({ db, organization }: Ctx, invoice_id: string): Promise<InvoiceRow> {
  const row = await findInvoice(db, organization.id, invoice_id)
  if (!row) throw notFound('invoice')
  return row
}

/** Returns one invoice of the organization. Throws Failure 404 invoice.not_found. */
export const getInvoice = async (ctx: Ctx, invoice_id: string): Promise<Invoice> => viewWith(ctx)(await requireInvoice(ctx, invoice_id))

/** Lists the organization's invoices, newest first. */
export async function listInvoices(ctx: Ctx, query: InvoiceQuery) {
  const read = (before: string | undefined, limit: number) =>
    listInvoiceRows(ctx.db, ctx.organization.id, before === undefined ? undefined : Number(before), limit)
  return listPage(ctx, 'invoices', query, read, (row) => row.sequence, viewWith(ctx))
}

/** Adds an open invoice to the organization, and returns it. */
export async function addInvoice(
  ctx: Ctx,
  action: string,
  draft: Omit<Parameters<typeof insertInvoice>[0], 'organization_id' | 'review_at'>,
): Promise<Invoice> {
  const { id, timezone } = ctx.organization
  const row = { ...draft, organization_id: id, review_at: graceEnd(draft.due_on, timezone) }
  await change(ctx, { action, resource_id: row.invoice_id }, [insertInvoice(row)])
  return getInvoice(ctx, row.invoice_id)
}

/** The earliest due day of the open invoices other than this one. */
async function oldestOtherDue({ db, organization }: Ctx, { invoice_id }: InvoiceRow): Promise<string | null> {
  const open = await listOpenInvoices(db, organization.id)
  return open.find((invoice) => invoice.invoice_id !== invoice_id)?.due_on ?? null
}

/**
 * Records that an invoice was paid, with the statements in `also`. When nothing else keeps the organization suspended, its connections are
 * reactivated in the same commit. Returns whether the invoice was open; any other stays as it is. Throws Failure 404 invoice.not_found and
 * 409 billing.changed.
 */
export const payInvoice = (
  ctx: Ctx,
  invoice_id: string,
  resume: Resume,
  action = 'invoice.paid',
  also: readonly Statement[] = [],
): Promise<boolean> =>
  commitBillingChange(async () => {
    const row = await requireInvoice(ctx, invoice_id)
    if (row.status !== 'open') return false
    const stored = await getSubscription(ctx)
    const effects = await effectsOf(ctx, stored, { ...stored, oldest_due: await oldestOtherDue(ctx, row) }, resume)
    await change(ctx, { action, resource_id: invoice_id, changed: ['status'] }, [
      ...also,
      assertInvoiceOpen(row),
      markPaid(ctx.db, row, ctx.now),
      ...effects.statements,
    ])
    await runAfterCommit(ctx, effects)
    return true
  })

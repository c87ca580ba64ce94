import { PLAN_KEYS } from '../src/plans/plans.ts'

/** What an operator can record: that an invoice was paid or is settled, or the plan that an organization has from now on. */
export type Order =
  | { kind: 'pay' | 'settle'; invoice_id: string }
  | { kind: 'plan'; organization_id: string; plan: string; seats: number | null }

/** The order that words of a command line say; null when they say none. */
export function orderOf([verb, id = '', plan = '', seats]: readonly string[]): Order | null {
  if ((verb === 'pay' || verb === 'settle') && /^inv_[0-9a-z]{26}$/.test(id) && plan === '') return { kind: verb, invoice_id: id }
  if (verb !== 'plan' || !/^org_[0-9a-z]{26}$/.test(id) || !PLAN_KEYS.includes(plan)) return null
  if (seats !== undefined && !/^\d{1,6}$/.test(seats)) return null
  return { kind: 'plan', organization_id: id, plan, seats: seats === undefined ? null : Number(seats) }
}

/** The orders of late, newest first, and what became of them. */
export const LATEST = `select order_id, kind, coalesce(invoice_id, organization_id) as about, plan, rfc_allowance as seats, created_at,
  case when done_at is null then 'open' when refused is null then 'done' else 'refused: ' || refused end as outcome
  from operator_orders order by created_at desc, order_id limit 20`

/** The statement that records an order; it answers the order's row when what it is about is there. Only checked words are in it. */
export function sqlOf(order: Order, order_id: string, now: number): string {
  const into = 'insert into operator_orders (order_id, kind, organization_id, invoice_id, plan, rfc_allowance, created_at)'
  return order.kind !== 'plan'
    ? `${into} select '${order_id}', '${order.kind}', organization_id, invoice_id, null, null, ${now} from invoices where invoice_id = '${order.invoice_id}' and status = 'open' returning organization_id`
    : `${into} select '${order_id}', 'plan', id, null, '${order.plan}', ${order.seats}, ${now} from organizations where id = '${order.organization_id}' returning organization_id`
}

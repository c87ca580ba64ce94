import { PLAN_KEYS } from '../src/accounts/plans/plans.ts'

/** What an operator can record: that an invoice was paid or settled, or an organization's new plan. */
export type OperatorCommand =
  | { kind: 'pay' | 'settle'; invoice_id: string }
  | { kind: 'plan'; organization_id: string; plan: string; seats: number | null }

/** The command that the words of a command line give; null when they give none. */
export function commandOf([verb, id = '', plan = '', seats]: readonly string[]): OperatorCommand | null {
  if ((verb === 'pay' || verb === 'settle') && /^inv_[0-9a-z]{26}$/.test(id) && plan === '') return { kind: verb, invoice_id: id }
  if (verb !== 'plan' || !/^org_[0-9a-z]{26}$/.test(id) || !PLAN_KEYS.includes(plan)) return null
  if (seats !== undefined && !/^\d{1,6}$/.test(seats)) return null
  return { kind: 'plan', organization_id: id, plan, seats: seats === undefined ? null : Number(seats) }
}

/** The latest 20 commands with their results, newest first. */
export const LATEST = `select command_id, kind, coalesce(invoice_id, organization_id) as about, plan, rfc_allowance as seats, created_at,
  case when done_at is null then 'open' when refused is null then 'done' else 'refused: ' || refused end as outcome
  from operator_orders order by created_at desc, command_id limit 20`

/** The statement that records a command. It returns a row when the invoice or organization exists. Its values were checked by commandOf. */
export function sqlOf(command: OperatorCommand, command_id: string, now: number): string {
  const into = 'insert into operator_orders (command_id, kind, organization_id, invoice_id, plan, rfc_allowance, created_at)'
  return command.kind !== 'plan'
    ? `${into} select '${command_id}', '${command.kind}', organization_id, invoice_id, null, null, ${now} from invoices where invoice_id = '${command.invoice_id}' and status = 'open' returning organization_id`
    : `${into} select '${command_id}', 'plan', id, null, '${command.plan}', ${command.seats}, ${now} from organizations where id = '${command.organization_id}' returning organization_id`
}

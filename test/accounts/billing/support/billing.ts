import { env } from 'cloudflare:workers'
import type { Invoice } from '../../../../src/accounts/billing/invoices/contract.ts'
import { organization } from '../../../support/tenants.ts'

export const RFCS = '/v1/billing/rfcs'

/** An organization without extractors, and its billing in a test's hands, past the front door where there is none. */
export async function billed(plan = 'starter') {
  const of = await organization(plan)
  const set = (assignment: string, ...values: unknown[]) =>
    env.DB.prepare(`update organizations set ${assignment} where id = ?`)
      .bind(...values, of.id)
      .run()
  // Signed up in this month, which is not invoiced.
  await set('billed_month = ?', new Date().toISOString().slice(0, 7))
  return {
    ...of,
    set,
    connect: (rfc: string, ciec: string | null = 'empty1') =>
      of.ask('POST', '/v1/fiscal-entities', { rfc, ...(ciec !== null && { ciec }) }),
    active: (id: string, active: boolean) => of.ask('PATCH', `${RFCS}/${id}`, { active }),
    invoice: async (due_date?: string): Promise<Invoice> =>
      (await of.ask('POST', '/v1/test-helpers/invoices', due_date === undefined ? {} : { due_date })).body,
    pay: (id: string) => of.ask('POST', `/v1/test-helpers/invoices/${id}/pay`),
    billing: async () => (await of.ask('GET', '/v1/billing')).body,
    rfcs: async () => (await of.ask('GET', `${RFCS}?limit=100`)).body.data,
    invoices: async (): Promise<Invoice[]> => (await of.ask('GET', '/v1/billing/invoices?limit=100')).body.data,
    /** State, what it was paused from, and who paused it, in the order of connecting. */
    states: async () =>
      (
        await env.DB.prepare('select state, paused_from, paused_by from connections where organization_id = ? order by connection')
          .bind(of.id)
          .raw<(string | null)[]>()
      ).map((row) => row.filter((one) => one !== null).join(' ')),
    runs: async () => (await env.DB.prepare('select trigger from runs where organization_id = ? order by run_id').bind(of.id).raw()).flat(),
  }
}

/** No organization of an earlier test is left to be invoiced or suspended. */
export const forgetBilled = () =>
  env.DB.batch(['organizations', 'invoices', 'connections'].map((table) => env.DB.prepare(`delete from ${table}`)))

export type Billed = Awaited<ReturnType<typeof billed>>

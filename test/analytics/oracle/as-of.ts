import { micros, money } from './amounts.ts'
import { balanceOf } from './balances.ts'
import { countedAt, isVigenteAt } from './counting.ts'
import type { Day } from './shapes.ts'
import { byNewest, type Document, dayOf, type World } from './world.ts'

export interface BalanceRow {
  uuid: string
  estatus: string
  is_substituted: boolean
  payment_status: string
  paid_amount: string | null
  credited_amount: string | null
  balance: string | null
}

const none = { payment_status: 'not_applicable', paid_amount: null, credited_amount: null, balance: null }

function paymentOf(world: World, document: Document, asOf: Day): Omit<BalanceRow, 'uuid' | 'estatus' | 'is_substituted'> {
  const { tipo_comprobante, has_xml, metodo_pago, total } = document
  if (tipo_comprobante !== 'I' || !has_xml) return none
  if (metodo_pago === 'PUE') return { payment_status: 'paid', paid_amount: money(micros(total)), credited_amount: '0.00', balance: '0.00' }
  if (metodo_pago !== 'PPD') return none
  const { paid, credited, balance, isOpen } = balanceOf(world, document, asOf < world.today ? asOf : null)
  return {
    payment_status: isOpen ? (paid + credited > 0n ? 'partially_paid' : 'unpaid') : 'paid',
    ...{ paid_amount: money(paid), credited_amount: money(credited), balance: money(balance) },
  }
}

/** The rows of GET /v1/cfdi?as_of= with what it says of balances, newest first. */
export const balancesAsOf = (world: World, asOf: Day, balance_min?: string): BalanceRow[] =>
  world.documents
    .filter((one) => dayOf(one.fecha) <= asOf)
    .sort(byNewest)
    .map((one) => {
      const isVigente = isVigenteAt(one, asOf < world.today ? asOf : null)
      return {
        ...{ uuid: one.uuid, estatus: isVigente ? 'vigente' : 'cancelado' },
        is_substituted: isVigente && one.kind === 'cfdi' && !countedAt(world, asOf).has(one.uuid),
        ...paymentOf(world, one, asOf),
      }
    })
    .filter(({ balance }) => balance_min === undefined || (balance !== null && micros(balance) >= micros(balance_min)))

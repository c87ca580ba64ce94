import type { ReportKey } from '../../../api/routes.d.ts'

/** How a member of a row is shown. */
export type Kind = 'name' | 'month' | 'day' | 'money' | 'count' | 'percent' | 'decimal' | 'word' | 'party' | 'listed' | 'partial' | 'value'

/** The columns of the rows of one kind, in the order in which they are read. */
export interface Shape {
  /** Of compliance, which has rows of several kinds. */
  kind?: string
  /** Rows come oldest first; these are read from the newest on. */
  isReversed?: true
  /** Of which period rows are shown: there are too many to look at all of them. */
  by?: string
  columns: readonly (readonly [member: string, kind: Kind])[]
}

const of = (kind: Kind, ...members: readonly string[]): (readonly [string, Kind])[] => members.map((member) => [member, kind])
const RATES = [
  ...['base_16', 'iva_16', 'devuelto_iva_16', 'no_acreditable_iva_16', 'acreditable_iva_16'],
  ...['base_8', 'iva_8', 'devuelto_iva_8', 'no_acreditable_iva_8', 'acreditable_iva_8', 'base_0', 'base_exento', 'base_no_objeto'],
  ...['base_otras', 'iva_otras', 'iva_retenido'],
]

export const SHAPES: Record<ReportKey, readonly Shape[]> = {
  'fiscal-summary': [
    {
      isReversed: true,
      columns: [
        ...of('name', 'year'),
        ...of('money', 'ingresos', 'egresos', 'iva_trasladado', 'iva_acreditable', 'iva_retenido_por_clientes', 'iva_retenido_a_terceros'),
        ...of('money', 'isr_retenido_por_clientes', 'isr_retenido_a_terceros', 'nomina', 'nomina_isr'),
        ...of('partial', 'is_partial'),
      ],
    },
  ],
  'revenue-expenses': [
    {
      isReversed: true,
      columns: [
        ...of('month', 'month'),
        ...of('money', 'net_revenue', 'net_expenses', 'operating_result', 'gross_profit'),
        ...of('percent', 'gross_margin'),
        ...of('money', 'revenue', 'credit_notes', 'expenses', 'credit_notes_received', 'cost_of_goods', 'payroll'),
        ...of('partial', 'is_partial'),
      ],
    },
  ],
  'annual-comparison': [
    {
      isReversed: true,
      columns: [
        ...of('month', 'year'),
        ...of('money', 'issued'),
        ...of('percent', 'issued_change_pct'),
        ...of('count', 'issued_count'),
        ...of('money', 'received'),
        ...of('percent', 'received_change_pct'),
        ...of('count', 'received_count', 'cancelled_issued_count'),
        ...of('money', 'cancelled_issued'),
        ...of('count', 'cancelled_issued_without_amount', 'cancelled_received_count'),
        ...of('money', 'cancelled_received'),
        ...of('count', 'cancelled_received_without_amount'),
        ...of('partial', 'is_partial'),
      ],
    },
  ],
  'counterparty-network': [
    {
      columns: [
        ...of('party', 'rfc'),
        ...of('word', 'relation'),
        ...of('money', 'issued'),
        ...of('percent', 'issued_share'),
        ...of('money', 'received'),
        ...of('percent', 'received_share'),
        ...of('count', 'invoice_count', 'credit_note_count', 'cancelled_count', 'active_months'),
        ...of('day', 'first_day', 'last_day'),
        ...of('listed', 'blacklist'),
      ],
    },
  ],
  cancellations: [
    {
      columns: [
        ...of('word', 'reason', 'direction'),
        ...of('count', 'count'),
        ...of('percent', 'share'),
        ...of('money', 'amount'),
        ...of('count', 'without_amount'),
        ...of('decimal', 'lag_days'),
        ...of('count', 'after_month_close'),
      ],
    },
  ],
  'payment-behavior': [
    {
      columns: [
        ...of('party', 'rfc'),
        ...of('word', 'direction'),
        ...of('money', 'paid', 'outstanding', 'overdue'),
        ...of('decimal', 'weighted_days_to_pay'),
        ...of('percent', 'on_time_rate'),
        ...of('decimal', 'average_installments'),
        ...of('count', 'payment_count', 'invoice_count'),
      ],
    },
  ],
  diot: [
    {
      by: 'period',
      columns: [
        ...of('party', 'rfc'),
        ...of('word', 'tipo_tercero', 'tipo_operacion'),
        ...of('money', ...RATES),
        ...of('partial', 'is_partial'),
      ],
    },
  ],
  compliance: [
    {
      kind: 'return',
      columns: [
        ...of('name', 'description'),
        ...of('name', 'period'),
        ...of('word', 'periodicity'),
        ...of('day', 'due_date'),
        ...of('word', 'status'),
      ],
    },
    { kind: 'opinion', columns: [...of('day', 'date'), ...of('word', 'sense')] },
    {
      kind: 'certificate',
      columns: [
        ...of('name', 'serial'),
        ...of('word', 'certificate_kind', 'status'),
        ...of('day', 'valid_to'),
        ...of('count', 'days_to_expiry'),
      ],
    },
    { kind: 'csf_change', columns: [...of('day', 'date'), ...of('name', 'field'), ...of('value', 'from', 'to')] },
  ],
  payroll: [
    {
      isReversed: true,
      columns: [
        ...of('month', 'month'),
        ...of('count', 'headcount', 'receipts'),
        ...of('money', 'percepciones', 'deducciones', 'otros_pagos', 'isr', 'average_salario_diario_integrado'),
        ...of('partial', 'is_partial'),
      ],
    },
  ],
}

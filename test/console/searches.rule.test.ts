import { describe, expect, it } from 'vitest'
import { documentsOf, isUnknown } from '../../console/pages/insight/efos/listed.ts'
import { listOf, remember } from '../../console/pages/work/cfdi/back.ts'
import { chosen, searched } from '../../console/pages/work/cfdi/choose.ts'
import { keepView, keptViews, viewOf } from '../../console/pages/work/cfdi/kept-views.ts'
import { searchOf } from '../../console/pages/work/months/search.ts'

const drilldown = '/v1/cfdi?fiscal_entity_id=fe_1&direction=issued&estatus=vigente&kind=cfdi&to_itself=false&is_substituted=false'

describe('a figure of a month leads to the search with its documents', () => {
  it.each([
    ['count', drilldown],
    ['net', `${drilldown}&tipo_comprobante=I%2CE`],
    ['credit_notes', `${drilldown}&tipo_comprobante=E`],
    ['pue_total', `${drilldown}&tipo_comprobante=I&metodo_pago=PUE`],
    ['cancelled_count', drilldown.replace('vigente', 'cancelado').replace('&is_substituted=false', '')],
  ] as const)('%s', (figure, search) => expect(searchOf(figure, { drilldown })).toBe(search))
})

describe('of article 69-B', () => {
  const steps = { presunto_dof_at: '2023-03-24', definitivo_dof_at: null, resolved_at: null }
  const missing = (...received: string[]) => ({ missing_months: { issued: [], received } })

  it.each([
    ['before', '0.00', ['2023-02'], true],
    ['before', '0.00', ['2023-03'], true],
    ['before', '0.00', ['2023-04'], false],
    ['before', '12.00', ['2023-02'], false],
    ['before', '0.00', [], false],
    ['after', '0.00', ['2023-02'], false],
    ['after', '0.00', ['2023-04'], true],
  ] as const)('%s the publication, %s with %j missing is unknown: %s', (side, amount, months, expected) =>
    expect(isUnknown(side, amount, steps, missing(...months), 'received')).toBe(expected),
  )

  it('of a direction of which nothing is missing, and without a publication, a zero is a zero', () => {
    expect(isUnknown('before', '0.00', steps, missing('2023-02'), 'issued')).toBe(false)
    expect(isUnknown('before', '0.00', { ...steps, presunto_dof_at: null }, missing('2023-02'), 'received')).toBe(false)
  })

  it('a situation of one party leads to its documents; of several parties, or on a past day, no search has exactly them', () => {
    const rows = [{ rfc: 'AAA010101AAA', situacion: 'presunto' as const }]
    const one = { situacion: 'presunto' as const, counterparty_count: 1 }
    const found = documentsOf(rows, one, '/v1/cfdi?direction=received', false)
    expect(found).toEqual({
      invoices: '/v1/cfdi?direction=received&is_substituted=false&tipo_comprobante=I&counterparty_rfc=AAA010101AAA',
      amount: '/v1/cfdi?direction=received&is_substituted=false&tipo_comprobante=I%2CE&counterparty_rfc=AAA010101AAA',
    })
    expect(documentsOf(rows, { ...one, counterparty_count: 2 }, '/v1/cfdi?', false)).toBeUndefined()
    expect(documentsOf(rows, one, '/v1/cfdi?', true)).toBeUndefined()
    expect(documentsOf([], one, '/v1/cfdi?', false)).toBeUndefined()
  })
})

describe('what is still to be paid is looked for among the valid documents', () => {
  it.each([
    ['', 'payment_status', 'unpaid', 'payment_status=unpaid&estatus=vigente'],
    ['q=x', 'payment_status', 'unpaid,partially_paid', 'q=x&payment_status=unpaid%2Cpartially_paid&estatus=vigente'],
    ['estatus=cancelado', 'payment_status', 'unpaid', 'estatus=cancelado&payment_status=unpaid'],
    ['', 'payment_status', 'paid', 'payment_status=paid'],
    ['payment_status=unpaid&estatus=vigente', 'estatus', '', 'payment_status=unpaid'],
    ['payment_status=unpaid&estatus=vigente', 'payment_status', '', 'estatus=vigente'],
    ['', 'metodo_pago', 'PPD', 'metodo_pago=PPD'],
  ])('%s with %s=%s', (before, name, value, after) => expect(chosen(new URLSearchParams(before), name, value).toString()).toBe(after))
})

it('a document leads back to the list of its RFC, as it was seen last', () => {
  expect(listOf('fe_1')).toBe('/cfdi?fiscal_entity_id=fe_1')
  remember('fiscal_entity_id=fe_1&direction=issued')
  expect(listOf('fe_1')).toBe('/cfdi?fiscal_entity_id=fe_1&direction=issued')
  expect(listOf('fe_2')).toBe('/cfdi?fiscal_entity_id=fe_2')
})

it.each([
  ['$1,840.00', 'total_min=1840.00&total_max=1840.00'],
  ['1840.50', 'total_min=1840.50&total_max=1840.50'],
  ['$ 900', 'total_min=900&total_max=900'],
  ['F-26101885', 'q=F+26101885'],
  ['26101885', 'q=26101885'],
  ['Juárez', 'q=Ju%C3%A1rez'],
  ['0f3c-1', 'q=0f3c-1'],
  ['', ''],
])('what is typed into the search, %s, is what people mean by it: %s', (text, search) =>
  expect(searched(new URLSearchParams('q=before'), text).toString()).toBe(search),
)

it('a search that has a name is of any RFC, replaces the one of that name, and is forgotten', () => {
  const kept = new Map<string, string>()
  const storage = { getItem: (key: string) => kept.get(key) ?? null, setItem: (key: string, text: string) => void kept.set(key, text) }
  const view = viewOf(new URLSearchParams('fiscal_entity_id=fe_1&q=x&export=1&estatus=vigente'))
  expect(view).toBe('estatus=vigente&q=x')
  keepView(storage, 'Vigentes', view)
  keepView(storage, 'Antes', 'q=y')
  expect(keepView(storage, 'Vigentes', 'q=z')).toEqual([
    { name: 'Antes', search: 'q=y' },
    { name: 'Vigentes', search: 'q=z' },
  ])
  expect(keepView(storage, 'Antes', null)).toEqual(keptViews(storage))
  kept.set('cfdi-views', '{"a":1}')
  expect(keptViews(storage)).toEqual([])
})

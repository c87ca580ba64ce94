import { describe, expect, it } from 'vitest'
import { connect, type Organization, organization } from '../support/tenants.ts'
import { micros, money } from './oracle/amounts.ts'
import { importInto } from './support/imported.ts'
import type { Written } from './support/xml.ts'

/** Sets of documents whose values the law gives (LIVA 1-B, 5 and 7; LISR 27-III), imported as XML. */
const [CUSTOMER, SUPPLIER, PERSON] = ['BBB020202BB1', 'DDD040404DD3', 'EEEE850505EE4']
const id = (n: number) => `0000000${n.toString(16).toUpperCase()}-0000-4000-8000-00000000000${n.toString(16).toUpperCase()}`
const [A, B, C, D, E, F] = Array.from({ length: 6 }, (_, n) => id(n + 1)) as [string, string, string, string, string, string]

type Row = Awaited<ReturnType<Organization['ask']>>['body']
type Document = Omit<Written, 'emisor' | 'receptor'> & Partial<Pick<Written, 'emisor' | 'receptor'>>

/** An RFC with these documents, and those that come later. Those without parties are sales, or purchases. */
async function book(
  documents: readonly Document[],
  direction: 'sales' | 'purchases' = 'sales',
  later: readonly (readonly Document[])[] = [],
) {
  const of = await organization('enterprise_gold')
  const { fiscal_entity_id, rfc } = await connect(of.owner)
  const parties = direction === 'sales' ? { emisor: rfc, receptor: CUSTOMER } : { emisor: SUPPLIER, receptor: rfc }
  for (const some of [documents, ...later])
    await importInto(
      of,
      fiscal_entity_id,
      some.map((one) => ({ ...parties, ...one, emisor: one.emisor === 'own' ? rfc : (one.emisor ?? parties.emisor) })),
    )
  return bookOf(of, fiscal_entity_id)
}

const bookOf = (of: Organization, fiscal_entity_id: string) => ({
  ask: async (path: string): Promise<Row> => {
    const { status, body } = await of.ask('GET', `/v1/${path}${path.includes('?') ? '&' : '?'}fiscal_entity_id=${fiscal_entity_id}`)
    expect([path, status, body.detail]).toEqual([path, 200, undefined])
    return body
  },
  /** The months of the position, each with entries that add up to the collected or paid IVA. */
  async months(from: string, to: string): Promise<Row[]> {
    const { data } = await this.ask(`analytics/vat-position?from=${from}&to=${to}`)
    for (const row of data)
      for (const figure of ['cobrado.iva_16', 'pagado.iva_16', 'no_deducible_excluded', 'retenido_acreditable']) {
        const entries = await this.ask(`analytics/vat-position/entries?period=${row.period}&figure=${figure}&limit=100`)
        const sum = entries['data'].reduce((all: bigint, { amount }: Row) => all + micros(amount), 0n)
        const [side = '', name] = figure.split('.')
        expect([row.period, figure, money(sum)]).toEqual([row.period, figure, name ? row[side][name] : row[side]])
      }
    // Each row can be computed from its own members.
    for (const { period, pagado, no_deducible_excluded, retenido_acreditable, prorrateo, month_before, acreditable } of data) {
      if (acreditable === null) continue
      const [paid, excluded, withheld, before] = [
        pagado.iva_16,
        no_deducible_excluded,
        retenido_acreditable,
        month_before.withheld_credited,
      ].map(Number) as [number, number, number, number]
      const computed = (paid + Number(pagado.iva_8) + Number(pagado.iva_otras) - excluded - withheld) * Number(prorrateo) + before
      expect([period, Math.abs(computed - Number(acreditable)) < 0.02]).toEqual([period, true])
    }
    return data
  },
  balanceOf(uuid: string): Promise<Row> {
    return this.ask(`cfdi/${uuid}`)
  },
})

const invoice = (uuid: string, day: string, net: number, more: Partial<Document> = {}): Document => ({
  ...{ uuid, fecha: day, metodo: 'PPD', lines: [{ importe: net }] },
  ...more,
})
const note = (uuid: string, day: string, net: number, of: string[], more: Partial<Document> = {}): Document => ({
  ...{ uuid, fecha: day, tipo: 'E', relacion: ['01', ...of], lines: [{ importe: net }] },
  ...more,
})
const complement = (uuid: string, day: string, of: string, pagado: number, more: Partial<Document> = {}): Document => ({
  ...{ uuid, fecha: day, tipo: 'P', pago: [day, [{ uuid: of, pagado }]] },
  ...more,
})

describe('a credit note lowers what is open, and returns the rest', () => {
  it.each(['sales', 'purchases'] as const)('of a PPD invoice that is paid but for the note, or by half (%s)', async (direction) => {
    const small = await book(
      [invoice(A, '2026-05-04', 10_000), complement(B, '2026-05-20', A, 11_368), note(C, '2026-05-25', 200, [A])],
      direction,
    )
    const half = await book(
      [invoice(A, '2026-05-04', 10_000), complement(B, '2026-05-20', A, 5_800), note(C, '2026-05-25', 5_000, [A])],
      direction,
    )
    const side = direction === 'sales' ? 'cobrado' : 'pagado'
    expect((await small.months('2026-05', '2026-05'))[0]![side].iva_16).toBe('1568.00')
    expect((await half.months('2026-05', '2026-05'))[0]![side].iva_16).toBe('800.00')
    expect(await half.balanceOf(A)).toMatchObject({ balance: '0.00', payment_status: 'paid' })
  })

  it('in the month of neither, where nothing was paid', async () => {
    const set = await book([invoice(A, '2026-07-04', 10_000), note(B, '2026-08-04', 1_000, [A]), complement(C, '2026-09-04', A, 10_440)])
    expect((await set.months('2026-07', '2026-09')).map(({ cobrado }) => cobrado.iva_16)).toEqual(['0.00', '0.00', '1440.00'])
  })

  it('whatever comes first: a payment of an earlier day that is issued after the note was there before it', async () => {
    const set = await book([
      invoice(A, '2026-07-04', 10_000),
      note(B, '2026-08-20', 1_000, [A]),
      complement(C, '2026-09-04', A, 11_600, { pago: ['2026-08-10', [{ uuid: A, pagado: 11_600 }]] }),
    ])
    expect((await set.months('2026-08', '2026-09')).map(({ cobrado }) => cobrado.iva_16)).toEqual(['1440.00', '0.00'])
  })

  it('and never more than was paid', async () => {
    const set = await book([
      invoice(A, '2026-05-04', 1_000, { metodo: 'PUE' }),
      note(B, '2026-05-10', 800, [A]),
      note(C, '2026-06-10', 800, [A]),
    ])
    expect((await set.months('2026-05', '2026-06')).map(({ cobrado }) => cobrado.iva_16)).toEqual(['32.00', '-32.00'])
  })

  it('of several invoices by what is open of each', async () => {
    const set = await book([invoice(A, '2026-05-04', 1_000), invoice(B, '2026-05-05', 3_000), note(C, '2026-05-10', 4_000, [A, B])])
    for (const uuid of [A, B]) {
      const found = await set.balanceOf(uuid)
      expect(found).toMatchObject({ balance: '0.00', payment_status: 'paid' })
      expect(found['aplicaciones']).toMatchObject([{ source_uuid: C, allocation_estimated: true }])
    }
    expect((await set.months('2026-05', '2026-05'))[0]!['cobrado'].iva_16).toBe('0.00')
  })
})

describe('an advance (flow A of Anexo 20)', () => {
  const advance = invoice(A, '2026-01-10', 1_000, { metodo: 'PUE' })
  const application = (names: string, day = '2026-02-05') => note(C, day, 1_000, [names], { forma: '30', relacion: ['07', names] })

  it.each([
    ['the invoice', B],
    ['the advance', A],
  ])('lowers an invoice to be paid later, when the note names %s', async (_, names) => {
    const set = await book([
      advance,
      invoice(B, '2026-02-05', 5_000, { relacion: ['07', A] }),
      application(names),
      complement(D, '2026-02-20', B, 4_640),
    ])
    expect((await set.months('2026-01', '2026-02')).map(({ cobrado }) => cobrado.iva_16)).toEqual(['160.00', '640.00'])
    expect(await set.balanceOf(B)).toMatchObject({ balance: '0.00', payment_status: 'paid' })
  })

  it.each([
    ['the invoice', B],
    ['the advance', A],
  ])('is dated with an invoice that is paid at once, when the note names %s later', async (_, names) => {
    const set = await book([
      advance,
      invoice(B, '2026-02-05', 5_000, { metodo: 'PUE', relacion: ['07', A] }),
      application(names, '2026-03-05'),
    ])
    expect((await set.months('2026-01', '2026-03')).map(({ cobrado }) => cobrado.iva_16)).toEqual(['160.00', '640.00', '0.00'])
  })
})

describe('what an invoice pays in form 30 beyond its advance', () => {
  const advance = invoice(A, '2026-01-10', 1_000, { metodo: 'PUE' })
  const later = invoice(B, '2026-02-05', 5_000, { relacion: ['07', A] })
  const atOnce = invoice(B, '2026-02-05', 5_000, { metodo: 'PUE', forma: '30', relacion: ['07', A] })
  const moved = complement(D, '2026-02-20', B, 5_800, { forma: '30' })

  it.each([
    ['by a complement', [advance, later, moved], ['160.00', '640.00']],
    ['as a whole, paid at once', [advance, atOnce], ['160.00', '640.00']],
    ['of two invoices', [advance, atOnce, { ...atOnce, uuid: C, fecha: '2026-02-06', lines: [{ importe: 500 }] }], ['160.00', '720.00']],
    ['whose advance is cancelled', [{ ...advance, cancelado: true }, later, moved], ['0.00', '800.00']],
    [
      'whose advance is substituted',
      [advance, { ...advance, uuid: C, sustituye: [A], lines: [{ importe: 2_000 }] }, later, moved],
      ['320.00', '480.00'],
    ],
    ['whose advance was given back in part', [advance, note(C, '2026-01-20', 400, [A]), later, moved], ['96.00', '704.00']],
    [
      'that a note applies too',
      [
        advance,
        later,
        note(C, '2026-02-06', 1_000, [B], { forma: '30', relacion: ['07', B] }),
        { ...moved, pago: ['2026-02-20', [{ uuid: B, pagado: 1_160 }]] },
      ],
      ['160.00', '0.00'],
    ],
    ['and returns later', [advance, later, moved, note(E, '2026-02-25', 4_500, [B])], ['160.00', '0.00']],
    ['of an advance that is not known', [later, moved], ['0.00', '0.00']],
  ] as [string, Document[], string[]][])('is money: %s', async (_, documents, expected) => {
    // In one import, and each document by itself, the last one first.
    for (const parts of [[documents], [...documents].reverse().map((one) => [one])])
      for (const direction of ['sales', 'purchases'] as const) {
        const set = await book(parts[0]!, direction, parts.slice(1))
        const side = direction === 'sales' ? 'cobrado' : 'pagado'
        expect((await set.months('2026-01', '2026-02')).map((row) => row[side].iva_16)).toEqual(expected)
      }
  })

  it('and all of it, where the advance is of others', async () => {
    const set = await book([{ ...advance, receptor: PERSON }, later, moved])
    expect((await set.months('2026-01', '2026-02')).map(({ cobrado }) => cobrado.iva_16)).toEqual(['160.00', '800.00'])
  })

  it('is accrued as a whole, and its balance is settled', async () => {
    const set = await book([advance, later, moved])
    expect(await set.balanceOf(B)).toMatchObject({ balance: '0.00', payment_status: 'paid' })
    const whole = await book([advance, atOnce])
    expect((await whole.months('2026-02', '2026-02'))[0]!['devengado'].trasladado).toBe('800.00')
  })
})

describe('the note of an advance follows the invoice that counts', () => {
  const advance = invoice(A, '2026-01-10', 1_000, { metodo: 'PUE' })
  const application = (names: string, day: string) => note(C, day, 1_000, [names], { forma: '30', relacion: ['07', names] })
  const final = invoice(B, '2026-02-05', 5_000, { relacion: ['07', A] })

  it.each([
    ['names the advance, the substitute too', A, { relacion: ['07', A], sustituye: [B] }, {}],
    ['names the advance, and the substitute only what it substitutes', A, { sustituye: [B] }, {}],
    ['names the first invoice', B, { sustituye: [B] }, {}],
    ['names the advance, and the first invoice is cancelled', A, { relacion: ['07', A], sustituye: [B] }, { cancelado: true }],
    ['names the advance, and the first invoice is cancelled for another', A, { relacion: ['07', A] }, { cancelado: true }],
  ] as [string, string, Partial<Document>, Partial<Document>][])('when it %s', async (_, names, more, before) => {
    // In one import, and each document by itself, the note first.
    const documents = [
      advance,
      { ...final, ...before },
      application(names, '2026-02-06'),
      invoice(D, '2026-03-05', 5_000, more),
      complement(E, '2026-03-20', D, 4_640),
    ]
    for (const parts of [[documents], [3, 2, 4, 0, 1].map((n) => [documents[n]!])]) {
      const set = await book(parts[0]!, 'sales', parts.slice(1))
      expect((await set.months('2026-01', '2026-03')).map(({ cobrado }) => cobrado.iva_16)).toEqual(['160.00', '0.00', '640.00'])
      expect(await set.balanceOf(D)).toMatchObject({ balance: '0.00', payment_status: 'paid' })
    }
  })

  it('and is a refund of the advance on its own day as long as there is none', async () => {
    const set = await book([advance, application(A, '2026-02-06')])
    expect((await set.months('2026-01', '2026-02')).map(({ cobrado }) => cobrado.iva_16)).toEqual(['160.00', '-160.00'])
    const cancelled = await book([advance, { ...final, cancelado: true }, application(A, '2026-02-06')])
    expect((await cancelled.months('2026-01', '2026-02')).map(({ cobrado }) => cobrado.iva_16)).toEqual(['160.00', '-160.00'])
    const unpaid = await book([{ ...advance, metodo: 'PPD' }, application(A, '2026-02-06')])
    expect((await unpaid.months('2026-01', '2026-02')).map(({ cobrado }) => cobrado.iva_16)).toEqual(['0.00', '0.00'])
  })

  it.each([
    ['PPD', [complement(D, '2026-03-20', B, 4_640)], ['160.00', '0.00', '640.00']],
    ['PUE', [], ['160.00', '0.00', '640.00']],
  ] as const)('and lowers an invoice that is issued after it (%s)', async (metodo, payments, expected) => {
    const later = { ...final, metodo, fecha: '2026-03-05' }
    for (const last of [[], [[later]]]) {
      const set = await book([advance, application(A, '2026-02-06'), ...(last.length === 0 ? [later] : []), ...payments], 'sales', last)
      expect((await set.months('2026-01', '2026-03')).map(({ cobrado }) => cobrado.iva_16)).toEqual(expected)
    }
  })
})

describe('the note of an advance whose invoice was cancelled, and nothing substitutes it', () => {
  const documents = (metodo: 'PPD' | 'PUE'): Document[] => [
    invoice(A, '2026-01-10', 1_000, { metodo: 'PUE' }),
    invoice(B, '2026-02-05', 5_000, { metodo, relacion: ['07', A], cancelado: true }),
    note(C, '2026-02-06', 1_000, [B], { forma: '30', relacion: ['07', B] }),
    invoice(D, '2026-03-05', 5_000, { metodo, relacion: ['07', A] }),
    ...(metodo === 'PPD' ? [complement(E, '2026-03-20', D, 4_640)] : []),
  ]

  it.each(['PPD', 'PUE'] as const)('lowers the next one that applies the same advance (%s)', async (metodo) => {
    const all = documents(metodo)
    for (const parts of [[all], [2, 3, 1, 0, 4].flatMap((n) => (all[n] ? [[all[n]]] : []))]) {
      const set = await book(parts[0]!, 'sales', parts.slice(1))
      expect((await set.months('2026-01', '2026-03')).map(({ cobrado }) => cobrado.iva_16)).toEqual(['160.00', '0.00', '640.00'])
      expect(await set.balanceOf(D)).toMatchObject({ balance: '0.00', payment_status: 'paid' })
    }
  })

  it('returns nothing as long as there is none: the advance is still held', async () => {
    const set = await book(documents('PPD').slice(0, 3))
    expect((await set.months('2026-01', '2026-02')).map(({ cobrado }) => cobrado.iva_16)).toEqual(['160.00', '0.00'])
  })
})

describe('a note of an advance that serves two invoices', () => {
  const advance = invoice(A, '2026-01-10', 2_000, { metodo: 'PUE' })
  const finals = (metodo: 'PPD' | 'PUE') => [
    invoice(B, '2026-02-05', 1_000, { metodo, relacion: ['07', A] }),
    invoice(C, '2026-02-06', 1_000, { metodo, relacion: ['07', A] }),
  ]

  it.each([
    ['the advance', [A]],
    ['one of them', [B]],
    ['both', [B, C]],
  ])('is divided among them when it names %s', async (_, names) => {
    for (const metodo of ['PPD', 'PUE'] as const) {
      const all = [advance, ...finals(metodo), note(D, '2026-02-10', 2_000, names, { forma: '30', relacion: ['07', ...names] })]
      for (const parts of [[all], [3, 1, 2, 0].map((n) => [all[n]!])]) {
        const set = await book(parts[0]!, 'sales', parts.slice(1))
        expect((await set.months('2026-01', '2026-02')).map(({ cobrado }) => cobrado.iva_16)).toEqual(['320.00', '0.00'])
        for (const uuid of [B, C]) expect(await set.balanceOf(uuid)).toMatchObject({ balance: '0.00', payment_status: 'paid' })
      }
    }
  })

  it('and two notes that name the advance lower one each', async () => {
    const notes = [D, E].map((uuid, n) => note(uuid, `2026-02-1${n}`, 1_000, [A], { forma: '30', relacion: ['07', A] }))
    const set = await book([advance, ...finals('PUE'), ...notes])
    expect((await set.months('2026-01', '2026-02')).map(({ cobrado }) => cobrado.iva_16)).toEqual(['320.00', '0.00'])
  })

  it('and what is beyond all of them returns the advance until the next one applies it', async () => {
    const all = [advance, finals('PUE')[0]!, note(D, '2026-02-10', 2_000, [A], { forma: '30', relacion: ['07', A] })]
    const before = await book(all)
    expect((await before.months('2026-01', '2026-02')).map(({ cobrado }) => cobrado.iva_16)).toEqual(['320.00', '-160.00'])
    const later = invoice(C, '2026-03-06', 1_500, { metodo: 'PUE', relacion: ['07', A] })
    const after = await book(all, 'sales', [[later]])
    // Of 2,320 by their totals, 928 are of the first and 1,392 of the other.
    expect((await after.months('2026-01', '2026-03')).map(({ cobrado }) => cobrado.iva_16)).toEqual(['320.00', '32.00', '48.00'])
  })
})

describe('an advance that pays an invoice', () => {
  const advance = invoice(A, '2026-01-10', 1_000, { metodo: 'PUE' })

  it('is no money when a complement applies it', async () => {
    const set = await book([
      advance,
      invoice(B, '2026-02-05', 5_000, { relacion: ['07', A] }),
      complement(C, '2026-02-05', B, 1_160, { forma: '30' }),
      complement(D, '2026-02-20', B, 4_640),
    ])
    expect((await set.months('2026-01', '2026-02')).map(({ cobrado }) => cobrado.iva_16)).toEqual(['160.00', '640.00'])
    expect(await set.balanceOf(B)).toMatchObject({ balance: '0.00', payment_status: 'paid' })
  })

  it('is no money of an invoice that is paid by it at once, and what is returned of that still is', async () => {
    const whole = invoice(B, '2026-02-05', 1_000, { metodo: 'PUE', forma: '30', relacion: ['07', A] })
    const paid = await book([advance, whole])
    expect((await paid.months('2026-01', '2026-02')).map(({ cobrado }) => cobrado.iva_16)).toEqual(['160.00', '0.00'])
    const applied = await book([advance, whole, note(C, '2026-02-05', 1_000, [B], { forma: '30', relacion: ['07', B] })])
    expect((await applied.months('2026-01', '2026-02')).map(({ cobrado }) => cobrado.iva_16)).toEqual(['160.00', '0.00'])
    const returned = await book([advance, whole, note(C, '2026-03-05', 500, [B])])
    expect((await returned.months('2026-01', '2026-03')).map(({ cobrado }) => cobrado.iva_16)).toEqual(['160.00', '0.00', '-80.00'])
  })
})

describe('a credit note of invoices with different taxes', () => {
  it('is divided by rate', async () => {
    const zero = { lines: [{ importe: 1_000, iva: '0.00' }] } as const
    const set = await book([
      invoice(A, '2026-05-04', 1_000, { metodo: 'PUE' }),
      invoice(B, '2026-05-05', 0, { ...zero, lines: [...zero.lines], metodo: 'PPD' }),
      note(C, '2026-06-10', 0, [A, B], { lines: [{ importe: 500 }, { importe: 400, iva: '0.00' }] }),
      complement(D, '2026-07-01', B, 600),
    ])
    const [may, june, july] = await set.months('2026-05', '2026-07')
    expect(may['cobrado']).toMatchObject({ base_16: '1000.00', iva_16: '160.00', base_0: '0.00' })
    expect(june['cobrado']).toMatchObject({ base_16: '-500.00', iva_16: '-80.00', base_0: '0.00' })
    expect(july['cobrado']).toMatchObject({ iva_16: '0.00', base_0: '600.00' })
    expect(await set.balanceOf(B)).toMatchObject({ balance: '0.00', aplicaciones: [{ amount: '400.00', allocation_estimated: true }, {}] })
  })

  it('restates the invoice alone whose IVA was withheld', async () => {
    const set = await book([
      invoice(A, '2026-05-04', 1_000, { metodo: 'PUE' }),
      invoice(B, '2026-05-05', 0, { metodo: 'PUE', lines: [{ clave: '84111500', importe: 1_000, iva_retenido: 106.67 }] }),
      note(C, '2026-07-10', 0, [A, B], { lines: [{ importe: 1_000 }, { clave: '84111500', importe: 1_000, iva_retenido: 106.67 }] }),
    ])
    const [may, , july] = await set.months('2026-05', '2026-07')
    expect(may).toMatchObject({ cobrado: { iva_16: '160.00', retenido_por_clientes: '0.00' }, requires_complementary: true })
    expect(july).toMatchObject({ cobrado: { iva_16: '-160.00', retenido_por_clientes: '0.00' }, requires_complementary: false })
  })
})

describe('what excluded the purchase', () => {
  it('excludes its credit note', async () => {
    const set = await book(
      [
        invoice(A, '2026-05-04', 10_000, { metodo: 'PUE', forma: '01' }),
        note(B, '2026-06-04', 10_000, [A]),
        invoice(C, '2026-05-04', 1, { metodo: 'PUE', emisor: 'own', receptor: CUSTOMER }),
        invoice(D, '2026-06-04', 1, { metodo: 'PUE', emisor: 'own', receptor: CUSTOMER }),
      ],
      'purchases',
    )
    const [may, june] = await set.months('2026-05', '2026-06')
    expect(may).toMatchObject({ no_deducible_excluded: '1600.00', acreditable: '0.00' })
    expect(june).toMatchObject({ pagado: { iva_16: '-1600.00' }, no_deducible_excluded: '-1600.00', acreditable: '0.00' })
    const { data } = await set.ask('cfdi/deductions?from=2026-05&to=2026-06')
    expect(data.map((row: Row) => [row.uuid, row.status, row.deductible_amount, row.reasons])).toEqual([
      [A, 'not_deductible', '0.00', ['cash_over_2000']],
      [B, 'not_deductible', '0.00', ['cash_over_2000']],
    ])
  })

  it('excludes a credit note in the part that was paid so', async () => {
    // Half of 11,600 in cash, half by transfer; 2,320 are returned in June. Half of the 320 returns what was never credited.
    const set = await book(
      [
        invoice(A, '2026-05-04', 10_000),
        complement(B, '2026-05-10', A, 5_800, { forma: '01' }),
        complement(C, '2026-05-11', A, 5_800, { forma: '03' }),
        note(D, '2026-06-04', 2_000, [A]),
      ],
      'purchases',
    )
    const [may, june] = await set.months('2026-05', '2026-06')
    expect(may).toMatchObject({ pagado: { iva_16: '1600.00' }, no_deducible_excluded: '800.00' })
    expect(june).toMatchObject({ pagado: { iva_16: '-320.00' }, no_deducible_excluded: '-160.00' })
  })

  it('excludes the IVA that was withheld on it', async () => {
    const fee = { clave: '84111500', importe: 10_000, iva_retenido: 1_066.67 }
    const set = await book(
      [
        invoice(A, '2026-05-04', 0, { metodo: 'PUE', forma: '01', emisor: PERSON, regimen: '612', lines: [fee] }),
        invoice(C, '2026-05-04', 1, { metodo: 'PUE', emisor: 'own', receptor: CUSTOMER }),
        invoice(D, '2026-06-04', 1, { metodo: 'PUE', emisor: 'own', receptor: CUSTOMER }),
        invoice(E, '2026-06-04', 1, { metodo: 'PUE' }),
      ],
      'purchases',
    )
    const [may, june] = await set.months('2026-05', '2026-06')
    expect(may).toMatchObject({ no_deducible_excluded: '1600.00', acreditable: '0.00', pagado: { retenido_a_terceros: '1066.67' } })
    expect(may).toMatchObject({ retenido_acreditable: '0.00' })
    expect(june).toMatchObject({ acreditable: '0.16', month_before: { withheld_credited: '0.00' } })
  })

  it('is judged by the form and the amount of each payment', async () => {
    // 58,000 in one payment in cash is out; three of 1,000 are not, although the invoice is larger.
    const set = await book(
      [
        invoice(A, '2026-05-04', 50_000),
        complement(B, '2026-05-10', A, 58_000, { forma: '01' }),
        invoice(C, '2026-05-05', 2_586.21),
        ...[D, E, F].map((uuid, n) => complement(uuid, `2026-05-1${n}`, C, 1_000, { forma: '01' })),
      ],
      'purchases',
    )
    const [may] = await set.months('2026-05', '2026-05')
    expect(may).toMatchObject({ no_deducible_excluded: '8000.00' })
    const risky = await set.ask('cfdi/risk?from=2026-05&to=2026-05&code=cash_over_2000')
    expect(risky['data'].map(({ uuid }: Row) => uuid)).toEqual([A])
    const { data } = await set.ask('cfdi/deductions?from=2026-05&to=2026-05')
    expect(data.map(({ uuid, reasons }: Row) => [uuid, reasons.includes('cash_over_2000')])).toEqual([
      [A, true],
      [C, false],
    ])
  })
})

describe('withheld IVA', () => {
  it('is credited the month after, by the proportion of its month', async () => {
    // May: IVA 240, withheld 160, half of what is collected is exempt. June: nothing is exempt.
    const own = { metodo: 'PUE', emisor: 'own', receptor: CUSTOMER } as const
    const set = await book(
      [
        invoice(A, '2026-05-04', 0, {
          ...{ metodo: 'PUE', emisor: PERSON, regimen: '612' },
          lines: [{ clave: '84111500', importe: 1_500, iva_retenido: 160 }],
        }),
        invoice(B, '2026-05-04', 0, { ...own, lines: [{ importe: 1_000 }, { importe: 1_000, iva: 'exento' }] }),
        invoice(C, '2026-06-04', 1_000, own),
        invoice(D, '2026-06-04', 0, { metodo: 'PUE', lines: [{ importe: 1, iva: '0.00' }] }),
      ],
      'purchases',
    )
    expect((await set.months('2026-05', '2026-06')).map(({ acreditable }) => acreditable)).toEqual(['40.00', '80.00'])
    const [may, june] = await set.months('2026-05', '2026-06')
    expect(may).toMatchObject({ retenido_acreditable: '160.00', prorrateo: '0.500000' })
    const { data } = await set.ask('analytics/vat-position?period=2026-06')
    // Nothing was downloaded: what else was withheld in May is not known.
    expect(data[0].month_before).toEqual({ period: '2026-05', withheld_credited: '80.00', is_known: false })
    expect(june!.month_before).toEqual(data[0].month_before)
  })

  it.each([
    ['PUE', [] as Document[]],
    ['PPD', [complement(B, '2026-05-20', A, 10_533.33)]],
  ] as const)('restates the month of the act when it is returned (%s)', async (metodo, payments) => {
    const fee = (importe: number, iva_retenido: number) => [{ clave: '84111500', importe, iva_retenido }]
    const set = await book([
      invoice(A, '2026-05-04', 0, { metodo, lines: fee(10_000, 1_066.67) }),
      ...payments,
      note(C, '2026-07-04', 0, [A], { lines: fee(5_000, 533.33) }),
    ])
    const [may, june, july] = await set.months('2026-05', '2026-07')
    expect(may).toMatchObject({ cobrado: { iva_16: '800.00', retenido_por_clientes: '533.34' }, requires_complementary: true })
    expect(june).toMatchObject({ cobrado: { iva_16: '0.00' }, requires_complementary: false })
    expect(july).toMatchObject({ cobrado: { iva_16: '0.00' }, requires_complementary: false })
  })

  it('restates several months, the newest first, when more is returned than the last payment', async () => {
    const fee = (importe: number, iva_retenido: number) => [{ clave: '84111500', importe, iva_retenido }]
    // 10,533.33 are paid in thirds. A half is returned, and then a quarter.
    const set = await book([
      invoice(A, '2026-05-04', 0, { lines: fee(10_000, 1_066.67) }),
      ...[B, D, E].map((uuid, n) => complement(uuid, `2026-0${5 + n}-20`, A, 3_511.11)),
      note(C, '2026-08-04', 0, [A], { lines: fee(5_000, 533.33) }),
      note(F, '2026-09-04', 0, [A], { lines: fee(2_500, 266.67) }),
    ])
    const months = await set.months('2026-05', '2026-09')
    // The half is all of July and half of June, the quarter the rest of June and a quarter of May.
    expect(months.map(({ cobrado }) => cobrado.iva_16)).toEqual(['400.00', '0.00', '0.00', '0.00', '0.00'])
    expect(months.map(({ requires_complementary }) => requires_complementary)).toEqual([true, true, true, false, false])
    expect(months.map(({ cobrado }) => cobrado.retenido_por_clientes)).toEqual(['266.67', '0.00', '0.00', '0.00', '0.00'])
    const { data } = await set.ask('cfdi/withholdings?from=2026-05&to=2026-09&impuesto=IVA')
    expect(data.map((row: Row) => [row.period, row.uuid, row.amount])).toEqual([
      ['2026-07', E, '355.56'],
      ['2026-07', C, '-355.55'],
      ['2026-06', F, '-177.78'],
      ['2026-06', D, '355.56'],
      ['2026-06', C, '-177.78'],
      ['2026-05', F, '-88.89'],
      ['2026-05', B, '355.56'],
    ])
  })

  it('needs no complementary return where an advance is applied', async () => {
    const fee = (importe: number, iva_retenido: number) => [{ clave: '84111500', importe, iva_retenido }]
    const set = await book([
      invoice(A, '2026-01-10', 0, { metodo: 'PUE', lines: fee(1_000, 106.67) }),
      invoice(B, '2026-02-05', 0, { metodo: 'PUE', lines: fee(5_000, 533.33), relacion: ['07', A] }),
      note(C, '2026-03-05', 0, [A], { forma: '30', relacion: ['07', A], lines: fee(1_000, 106.67) }),
    ])
    const months = await set.months('2026-01', '2026-03')
    expect(months.map(({ cobrado }) => cobrado.iva_16)).toEqual(['160.00', '640.00', '0.00'])
    expect(months.map(({ requires_complementary }) => requires_complementary)).toEqual([false, false, false])
  })
})

describe('a global invoice', () => {
  it.each([
    ['in its month', '2026-07-31', ['01', '07', '2026'], ['160.00', '0.00']],
    ['after it', '2026-08-02', ['04', '07', '2026'], ['160.00', '0.00']],
    ['after two months', '2026-08-31', ['05', '16', '2026'], ['0.00', '160.00']],
  ] as const)('belongs to the month of InformacionGlobal, issued %s', async (_, day, global, expected) => {
    const set = await book([invoice(A, day, 1_000, { metodo: 'PUE', receptor: 'XAXX010101000', global: [...global], uso: 'S01' })])
    const months = await set.months('2026-07', '2026-08')
    expect(months.map(({ cobrado }) => cobrado.iva_16)).toEqual(expected)
    expect(months.map(({ devengado }) => devengado.trasladado)).toEqual(expected)
  })
})

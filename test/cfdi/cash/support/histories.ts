import { CUSTOMERS, type Plain, plainOf } from '../../support/documents.ts'

/**
 * Random histories of sales, told twice: as documents, and as what a cashier saw. LIVA 1-B: IVA is due on what is really collected. LIVA 7:
 * on what is returned it is due no more. What a credit note takes off before it is paid was never collected, and an advance is collected once.
 */
export interface History {
  documents: Plain[]
  cancelled: Plain[]
  /** What is due in the end of some invoices together, in pesos. */
  due: { invoices: string[]; iva: number }[]
}

type Random = () => number
const text = (cents: number): string => (cents / 100).toFixed(2)

/** What both kinds of history are made with. */
function writer(random: Random) {
  const int = (from: number, to: number) => from + Math.floor(random() * (to - from + 1))
  const chance = (of: number) => random() < of
  const pick = <T>(list: readonly T[]): T => list[int(0, list.length - 1)]!
  const receptor = pick(CUSTOMERS)
  let minute = int(0, 60 * 24 * 20)
  const next = (): string => {
    minute += int(1, 60 * 24 * 12)
    return new Date(Date.UTC(2025, 0, 1, 0, minute)).toISOString().slice(0, 19)
  }
  const documents: Plain[] = []
  const make = (more: Partial<Plain>): Plain => {
    const one = plainOf(random, '2025-01', { lines: 1, receptor, ...more })
    documents.push(one)
    return one
  }
  const pay = (uuid: string, cents: number, at: string, stamped: string, more: Partial<Plain> = {}, forma = '03') =>
    make({
      ...{ tipo: 'P', metodo: null, moneda: 'XXX', subtotal: '0', iva: '0', total: '0', fecha: stamped },
      pagos: [{ fecha: at, forma, documentos: [{ uuid, pagado: text(cents), moneda: 'MXN' }] }],
      ...more,
    })
  return { int, chance, pick, next, make, pay, documents }
}

/** What the till has of an invoice, and what is still owed. */
class Account {
  debt: number
  till: number

  constructor(whole: number, isAtOnce: boolean) {
    this.debt = isAtOnce ? 0 : whole
    this.till = isAtOnce ? whole : 0
  }

  takeOff(cents: number): void {
    const forgiven = Math.min(cents, this.debt)
    this.debt -= forgiven
    this.till -= Math.min(cents - forgiven, this.till)
  }

  collect(cents: number): void {
    this.till += cents
    this.debt = Math.max(0, this.debt - cents)
  }
}

interface Move {
  at: string
  run: () => void
}

const runAll = (moves: readonly Move[]): void => {
  for (const { run } of [...moves].sort((a, b) => (a.at < b.at ? -1 : 1))) run()
}

/** An amount in cents as a document states it: a base, IVA of 16 % and their sum. Cents are multiples of 116. */
const amountsOf = (cents: number) => ({ subtotal: text((cents / 116) * 100), iva: text((cents / 116) * 16), total: text(cents) })

/** A sale of one invoice at 16 %, maybe with an advance, a substitute, or undone. */
export function saleOf(random: Random): History {
  const { int, chance, pick, next, make, pay, documents } = writer(random)
  const cancelled: Plain[] = []
  // An advance is collected at once. Later it pays for a part of the invoice.
  const advance = chance(0.5) ? 116 * int(10, 300) : 0
  const paidAhead = advance > 0 ? make({ ...amountsOf(advance), fecha: next() }) : null
  const whole = advance + 116 * int(10, 900)
  const isAtOnce = chance(0.35)
  const metodo = isAtOnce ? 'PUE' : 'PPD'
  const relacion = paidAhead && { tipo: '07', uuids: [paidAhead.uuid] }
  const isUndone = chance(0.15)
  const substituted = chance(0.3)
  // Its note takes the advance off. It may be written before the invoice, and names what there is.
  const when = paidAhead === null || chance(0.15) ? null : pick(['before', 'between', 'after'] as const)
  let named: Plain | null = null
  const write = (names: Plain): void => {
    named = make({ tipo: 'E', ...amountsOf(advance), fecha: next(), relacion: { tipo: '07', uuids: [names.uuid] } })
    names === paidAhead ? ahead.push(named) : onInvoice.push(named)
  }
  const [ahead, onInvoice]: [Plain[], Plain[]] = [[], []]
  if (when === 'before') write(paidAhead!)
  const first = make({ ...amountsOf(whole), metodo, fecha: next(), relacion })
  if (when === 'between') write(chance(0.5) ? first : paidAhead!)
  let invoice = first
  if (substituted) {
    // The invoice was wrong. Its substitute says the same, or only what it substitutes; the old one is cancelled, or still valid.
    const relations = chance(0.6) ? { relacion, sustituye: [first.uuid] } : { relacion: { tipo: '04', uuids: [first.uuid] } }
    invoice = make({ ...amountsOf(whole), metodo, fecha: next(), ...relations })
    if (chance(0.5)) cancelled.push(first)
  }
  if (when === 'after') write(pick([invoice, first, paidAhead!]))
  const account = new Account(whole, isAtOnce)
  const moves: Move[] = []
  const note = named as Plain | null
  if (note !== null) {
    if (chance(0.1)) cancelled.push(note)
    else moves.push({ at: note.fecha, run: () => account.takeOff(advance) })
  } else if (paidAhead !== null && !isAtOnce && invoice.relacion?.tipo === '07' && chance(0.7)) {
    // A complement applies it instead.
    const at = next()
    pay(invoice.uuid, advance, at, at, {}, '30')
    moves.push({ at, run: () => account.collect(0) })
    moves.push({
      at,
      run: () => {
        account.debt = Math.max(0, account.debt - advance)
      },
    })
  }
  let planned = whole - advance
  for (let n = int(0, 5); n > 0; n--) {
    const at = next()
    if (!isAtOnce && chance(0.6) && planned >= 116) {
      const cents = chance(0.3) ? planned - (planned % 116) : 116 * int(1, Math.floor(planned / 116))
      planned -= cents
      // It is stamped days later, so that a note may come in between.
      const stamped = new Date(Date.parse(`${at}Z`) + int(0, 20) * 86_400_000).toISOString().slice(0, 19)
      const complement = pay(invoice.uuid, cents, at, stamped)
      const fate = random()
      if (fate < 0.15) {
        // The bank returned it: the complement is cancelled, and nothing was collected.
        cancelled.push(complement)
        planned += cents
        continue
      }
      const later = new Date(Date.parse(`${stamped}Z`) + 3_600_000).toISOString().slice(0, 19)
      if (fate < 0.3) pay(invoice.uuid, cents, at, later, { sustituye: [complement.uuid] })
      moves.push({ at, run: () => account.collect(cents) })
    } else {
      const cents = 116 * int(1, Math.max(1, Math.floor(whole / 232)))
      const credit = make({ tipo: 'E', ...amountsOf(cents), fecha: at, relacion: { tipo: pick(['01', '03']), uuids: [invoice.uuid] } })
      if (chance(0.15)) cancelled.push(credit)
      else moves.push({ at, run: () => account.takeOff(cents) })
    }
  }
  let kept = advance
  if (isUndone) {
    // Nothing of it counts any more, but for the advance; and a note that names the advance says that it was returned.
    cancelled.push(invoice)
    if (invoice !== first && !cancelled.includes(first)) cancelled.push(first)
    if (note !== null && ahead.includes(note) && !cancelled.includes(note)) kept = 0
  } else {
    runAll(moves)
    kept += account.till
  }
  const invoices = [...new Set([first, invoice, ...(paidAhead ? [paidAhead] : [])])].map(({ uuid }) => uuid)
  return { documents, cancelled, due: [{ invoices, iva: (kept / 116) * 0.16 }] }
}

/**
 * An advance and the invoices that apply it in form 30: by complements, or as a whole where they are paid at once. What was paid ahead pays as
 * much as it was, less what the customer got back; what an invoice says beyond that is money that came with it.
 */
export function advanceOf(random: Random): History {
  const { int, chance, pick, next, make, pay, documents } = writer(random)
  const cancelled: Plain[] = []
  const moves: Move[] = []
  const invoices: string[] = []
  let [held, till, isReturned] = [0, 0, false]
  const say = (uuid: string) => invoices.push(uuid)
  const sums = 116 * int(5, 60)
  let advance = make({ ...amountsOf(sums), fecha: next() })
  say(advance.uuid)
  const fate = random()
  let whole = sums
  const named = [advance]
  const replace = () => {
    // It said another amount than what was paid.
    whole = 116 * int(5, 60)
    const before = advance
    const relation = chance(0.5) ? { relacion: { tipo: '04', uuids: [before.uuid] } } : { sustituye: [before.uuid] }
    advance = make({ ...amountsOf(whole), fecha: next(), ...relation })
    say(advance.uuid)
    named.push(advance)
    if (chance(0.5)) cancelled.push(before)
  }
  if (fate < 0.2) replace()
  const collect = (cents: number): void => {
    till += cents
  }
  const apply = (cents: number): void => {
    const covered = Math.min(cents, held)
    held -= covered
    till += cents - covered
  }
  const payIn30 = (of: Plain, cents: number, more: Partial<Plain> = {}) => {
    const at = next()
    return { at, document: pay(of.uuid, cents, at, at, more, '30') }
  }
  for (let n = int(1, 3); n > 0; n--) {
    const total = 116 * int(3, 80)
    const relacion = { tipo: '07', uuids: [pick(named).uuid] }
    const isAtOnce = chance(0.4)
    const form = isAtOnce ? ({ metodo: 'PUE', forma: '30' } as const) : ({ metodo: 'PPD', forma: '99' } as const)
    const first = make({ ...amountsOf(total), ...form, fecha: next(), relacion })
    let invoice = first
    say(first.uuid)
    if (chance(0.2)) {
      invoice = make({ ...amountsOf(total), ...form, fecha: next(), relacion, sustituye: [first.uuid] })
      say(invoice.uuid)
      if (chance(0.5)) cancelled.push(first)
    }
    if (chance(0.1)) {
      cancelled.push(invoice)
      if (invoice !== first && !cancelled.includes(first)) cancelled.push(first)
      continue
    }
    if (isAtOnce) {
      moves.push({ at: invoice.fecha, run: () => apply(total) })
      // Nobody gives back what it has not said yet, nor the same twice.
      if (chance(0.3) && fate < 0.2) {
        isReturned = true
        const cents = 116 * int(1, total / 116)
        const credit = make({ tipo: 'E', ...amountsOf(cents), fecha: next(), relacion: { tipo: '01', uuids: [invoice.uuid] } })
        moves.push({ at: credit.fecha, run: () => collect(-cents) })
      }
      continue
    }
    for (let left = total, parts = int(1, 3); parts > 0 && left >= 116; parts--) {
      const cents = parts === 1 ? left : 116 * int(1, left / 116)
      left -= cents
      if (chance(0.4)) {
        const at = next()
        pay(invoice.uuid, cents, at, at)
        moves.push({ at, run: () => collect(cents) })
        continue
      }
      let { at, document } = payIn30(invoice, cents)
      if (chance(0.15)) {
        const again = payIn30(invoice, cents, { sustituye: [document.uuid] })
        at = again.at
        const before = document
        document = again.document
        if (chance(0.5)) cancelled.push(before)
        else if (chance(0.2)) {
          cancelled.push(before, document)
          continue
        }
      } else if (chance(0.1)) {
        cancelled.push(document)
        continue
      }
      moves.push({ at, run: () => apply(cents) })
    }
  }
  if (fate > 0.2 && fate < 0.3) replace()
  if (fate > 0.9) cancelled.push(advance)
  else {
    held = whole
    till = whole
    if (chance(0.25) && !isReturned) {
      const cents = 116 * int(1, whole / 116)
      const fecha = next()
      const note = make({ tipo: 'E', ...amountsOf(cents), fecha, relacion: { tipo: pick(['01', '03']), uuids: [advance.uuid] } })
      if (chance(0.2)) cancelled.push(note)
      else
        moves.push({
          at: fecha,
          run: () => {
            till -= cents
            held = Math.max(0, held - cents)
          },
        })
    }
  }
  runAll(moves)
  return { documents, cancelled, due: [{ invoices, iva: (till / 116) * 0.16 }] }
}

const KINDS = [
  { tasa: '0.160000', rate: 0.16, withheld: 0 },
  { tasa: '0.080000', rate: 0.08, withheld: 0 },
  { tasa: '0.000000', rate: 0, withheld: 0 },
  { tasa: '0.160000', rate: 0.16, withheld: 0.1 },
] as const

/** Some invoices with different rates and withholdings, paid apart, and credit notes of several of them. */
export function bundleOf(random: Random): History {
  const { int, chance, next, make, pay, documents } = writer(random)
  const cancelled: Plain[] = []
  const moves: Move[] = []
  const of = (kind: (typeof KINDS)[number], base: number) => ({
    ...{ base, iva: Math.round(base * kind.rate), withheld: Math.round(base * kind.withheld) },
    total: base + Math.round(base * kind.rate) - Math.round(base * kind.withheld),
  })
  const write = (lines: readonly { kind: (typeof KINDS)[number]; base: number }[], more: Partial<Plain>): Plain => {
    const parts = lines.map(({ kind, base }) => of(kind, base))
    const sum = (name: keyof (typeof parts)[number]) => parts.reduce((all, one) => all + one[name], 0)
    // A document states the IVA of one rate once.
    const tasas = [...Map.groupBy(lines, ({ kind }) => kind.tasa)].map(([tasa, some]) => ({
      tasa,
      base: text(some.reduce((all, one) => all + one.base, 0)),
      iva: text(some.reduce((all, one) => all + of(one.kind, one.base).iva, 0)),
    }))
    const retenido = sum('withheld') === 0 ? {} : { retenido: text(sum('withheld')) }
    return make({ ...{ subtotal: text(sum('base')), iva: text(sum('iva')), total: text(sum('total')), tasas }, ...retenido, ...more })
  }
  const sales = KINDS.filter(() => chance(0.7)).map((kind) => {
    // Bases are multiples of 100 pesos, so that every part is whole.
    const base = 10_000 * int(1, 40)
    const isAtOnce = chance(0.4)
    const invoice = write([{ kind, base }], { metodo: isAtOnce ? 'PUE' : 'PPD', fecha: next() })
    return { kind, base, invoice, isAtOnce, account: new Account(base, isAtOnce), left: base }
  })
  for (let n = int(1, 5); n > 0; n--) {
    const at = next()
    const some = sales.filter(() => chance(0.6))
    if (some.length === 0) continue
    if (chance(0.5)) {
      for (const sale of some) {
        if (sale.isAtOnce || sale.left < 10_000) continue
        const base = 10_000 * int(1, sale.left / 10_000)
        sale.left -= base
        pay(sale.invoice.uuid, of(sale.kind, base).total, at, at)
        moves.push({ at, run: () => sale.account.collect(base) })
      }
      continue
    }
    const lines = some.map(({ kind, base }) => ({ kind, base: 10_000 * int(1, Math.max(1, base / 20_000)) }))
    const note = write(lines, {
      ...{ tipo: 'E', metodo: 'PUE', fecha: at, relacion: { tipo: '01', uuids: some.map(({ invoice }) => invoice.uuid) } },
    })
    if (chance(0.15)) cancelled.push(note)
    else for (const [k, { account }] of some.entries()) moves.push({ at, run: () => account.takeOff(lines[k]!.base) })
  }
  runAll(moves)
  return {
    ...{ documents, cancelled },
    due: sales.map(({ invoice, kind, account }) => ({ invoices: [invoice.uuid], iva: (account.till / 100) * kind.rate })),
  }
}

import { money, numberOf, sealOf, uuidOf } from './markup.ts'
import { type Party, Truth, type TruthDocument } from './truth.ts'
import { type Draft, paidOut, payment, payroll, sale, withholding, withVat } from './xml.ts'

export interface Wanted {
  rfc: string
  /** The first month, `YYYY-MM`, and how many there are. */
  from: string
  months: number
  /** Of each kind in a month. There are as many issued as received retenciones, of which one more or less is issued. */
  counts?: Partial<typeof COUNTS>
  /** Another seed gives other documents. */
  seed?: string
  /** Bytes that are put into each invoice, and that compress to about three quarters. */
  padding?: number
}

const COUNTS = { issued: 6, received: 6, payroll: 2, retenciones: 2 }

const COMPANIES: readonly Party[] = [
  { rfc: 'XIA190128J61', name: 'XENON INDUSTRIAL ARTICLES' },
  { rfc: 'JES900109Q90', name: 'JIMENEZ & ESTRADA SALAS' },
  // In metadata a line feed in a name does not end the row.
  { rfc: 'ÑAC850101AB7', name: 'ÑANDÚ\nCOMERCIAL' },
  { rfc: 'A&A050908GT0', name: 'ALFA & ALFA' },
]
const PEOPLE: readonly Party[] = [
  { rfc: 'CACX7605101P8', name: 'XOCHILT CASAS CHAVEZ' },
  { rfc: 'XOJI740919U48', name: 'INGRID XODAR JIMENEZ' },
]

/** Returns the literal time so many seconds after another. */
const later = (literal: string, seconds: number): string => new Date(Date.parse(`${literal}Z`) + seconds * 1000).toISOString().slice(0, 19)

const HOUR = 3600
const DAY = 24 * HOUR

function monthAfter(month: string, n: number): string {
  const [year, number] = month.split('-').map(Number) as [number, number]
  return new Date(Date.UTC(year, number - 1 + n, 1)).toISOString().slice(0, 7)
}

/** The Fecha of one of so many documents of a month. The first one is in the month's first second, the last one in its last. */
function fechaOf(month: string, n: number, count: number): string {
  const first = `${month}-01T00:00:00`
  const seconds = (Date.parse(`${monthAfter(month, 1)}-01T00:00:00Z`) - Date.parse(`${first}Z`)) / 1000 - 1
  return later(first, count === 1 ? Math.floor(seconds / 2) : Math.floor((seconds * n) / (count - 1)))
}

/** Makes the documents of some months of an RFC. The same wish gives the same documents, whatever other months are wished for. */
export function generate({ rfc, from, months, counts, seed = 'truth', padding = 0 }: Wanted): Truth {
  const owner: Party = { rfc, name: 'PRUEBAS & ASOCIADOS' }
  const all = { ...COUNTS, ...counts }
  return new Truth(
    Array.from({ length: months }, (_, n) => monthAfter(from, n)).flatMap((month) => {
      const drafted = (what: string, n: number, count: number, emisor: Party, receptor: Party): Draft => {
        const key = `${seed} ${rfc} ${month} ${what} ${n}`
        const fecha = fechaOf(month, n, count)
        const draw = numberOf(key)
        // One in eight is stamped within the last of the 72 hours after its Fecha.
        const stamped = later(fecha, draw % 8 === 0 ? 71 * HOUR + (draw % HOUR) : 5 + (draw % 600))
        return {
          uuid: uuidOf(key),
          emisor,
          receptor,
          fecha,
          stamped,
          subtotal: 10_000 + (draw % 9_000_000),
          folio: `${month.replace('-', '')}${n}`,
        }
      }
      const company = (n: number): Party => COMPANIES[n % COMPANIES.length]!
      const traded = (what: 'issued' | 'received') => {
        const drafts = Array.from({ length: all[what] }, (_, n) => {
          const pair = [owner, company(n)] as const
          return drafted(what, n, all[what], ...(what === 'issued' ? pair : ([pair[1], pair[0]] as const)))
        })
        return drafts.map((draft, n) => tradedDocument(drafts, draft, n, padding))
      }
      const receipts = Array.from({ length: all.payroll }, (_, n) => {
        const draft = drafted('payroll', n, all.payroll, owner, PEOPLE[n % PEOPLE.length]!)
        return documentOf(draft, 'N', money(paidOut(draft.subtotal)), () => payroll(draft))
      })
      const withheld = Array.from({ length: all.retenciones }, (_, n) => {
        const pair = n % 2 === 0 ? ([owner, company(n)] as const) : ([company(n), owner] as const)
        const draft = drafted('retenciones', n, all.retenciones, ...pair)
        return { ...documentOf(draft, '', money(draft.subtotal), () => withholding(draft)), family: 'retenciones' as const }
      })
      return [...traded('issued'), ...traded('received'), ...receipts, ...withheld]
    }),
  )
}

/** Of every six, the fourth pays the second, which is PPD, and the sixth is a credit note of the first. */
function tradedDocument(drafts: readonly Draft[], draft: Draft, n: number, padding: number): TruthDocument {
  const base = n - (n % 6)
  const total = money(withVat(draft.subtotal))
  if (n % 6 === 3) {
    const invoice = drafts[base + 1]!
    const paying = { ...draft, emisor: invoice.emisor, receptor: invoice.receptor }
    return documentOf(paying, 'P', '0', () => payment(paying, invoice))
  }
  if (n % 6 === 5) {
    const invoice = drafts[base]!
    const note = { ...draft, emisor: invoice.emisor, receptor: invoice.receptor, subtotal: Math.ceil(invoice.subtotal / 10) }
    return documentOf(note, 'E', money(withVat(note.subtotal)), () => sale(note, { credits: invoice.uuid }))
  }
  // The third is cancelled some days after its stamp.
  const cancelled = n % 6 === 2 ? later(draft.stamped, 2 * DAY) : null
  const filling = padding === 0 ? '' : sealOf(draft.uuid, Math.ceil(padding / 86)).slice(0, padding)
  const xml = () => sale(draft, { metodo: n % 6 === 1 ? 'PPD' : 'PUE', padding: filling })
  return { ...documentOf(draft, 'I', total, xml), cancelled }
}

const documentOf = (draft: Draft, type: TruthDocument['type'], total: string, xml: () => string): TruthDocument => {
  const { uuid, emisor, receptor, fecha, stamped } = draft
  return { uuid, family: 'cfdi', type, emisor, receptor, fecha, stamped, total, cancelled: null, xml }
}

import type { Page } from 'playwright-core'

/** What a figure of a page looks like: an amount, or a percentage with decimals. */
const SHOWN = /[-−]?\$[\d,]+(?:\.\d+)?|[-−]?[\d,]+\.\d+\s?%/g
/** A balance in favour is shown without its sign. */
const BALANCE = /"saldo":"-([\d.]+)"/g
/** A part that a rule states in ten-thousandths is shown as a percentage. */
const PART = /"numerator":(\d+)(\d\d),"denominator":10000\b/g

const pesos = new Intl.NumberFormat('es-MX', { style: 'currency', currency: 'MXN', currencyDisplay: 'narrowSymbol' })
const parts = new Intl.NumberFormat('es-MX', {
  ...({ style: 'currency', currency: 'MXN', currencyDisplay: 'narrowSymbol' } as const),
  maximumFractionDigits: 6,
})
const whole = new Intl.NumberFormat('es-MX', { style: 'currency', currency: 'JPY', currencyDisplay: 'narrowSymbol' })
const percents = [2, 4].map((most) => new Intl.NumberFormat('es-MX', { style: 'percent', maximumFractionDigits: most }))
const decimals = new Intl.NumberFormat('es-MX', { minimumFractionDigits: 2, maximumFractionDigits: 6 })

/** Digits, point and sign alone: `−$1,840.00` → `-1840.00`. */
const plain = (text: string): string => text.replace('−', '-').replace(/[^\d.-]/g, '')

/** What runs in the page: Node's types do not know it. */
interface InPage {
  document: {
    createTreeWalker(root: unknown, what: number): { nextNode(): { data: string; parentElement: Place } | null }
    querySelector(selector: string): unknown
  }
}
interface Place {
  closest(selector: string): unknown
}

/** Everything that the API has answered a page since it was opened. */
export class Answers {
  readonly #bodies: Promise<string>[] = []
  /** How many figures were seen. */
  seen = 0

  constructor(page: Page) {
    page.on('response', (response) => {
      if (new URL(response.url()).pathname.startsWith('/v1/')) this.#bodies.push(response.text().catch(() => ''))
    })
  }

  /** The figures of a page that are the text of no answer. Axes of charts and what a program shows are left out. */
  async strangersOn(page: Page): Promise<string[]> {
    const said = new Set<string>()
    for (const body of await Promise.all(this.#bodies.splice(0))) {
      for (const [, balance] of body.matchAll(BALANCE)) said.add(balance!)
      for (const [, whole, part] of body.matchAll(PART)) said.add(`${whole}.${part}`)
      for (const [text] of body.matchAll(/-?\d+(\.\d+)?/g)) {
        said.add(text)
        const value = text as `${number}`
        for (const format of [pesos, parts, whole, decimals, ...percents]) said.add(plain(format.format(value)))
      }
    }
    const texts = await page.evaluate(() => {
      const { document } = globalThis as unknown as InPage
      const walker = document.createTreeWalker(document.querySelector('main'), 4)
      const found: string[] = []
      for (let node = walker.nextNode(); node; node = walker.nextNode())
        if (!node.parentElement.closest('svg, code, pre, option')) found.push(node.data)
      return found
    })
    const figures = texts.flatMap((text) => text.match(SHOWN) ?? [])
    this.seen += figures.length
    return figures.filter((shown) => !said.has(plain(shown)))
  }
}

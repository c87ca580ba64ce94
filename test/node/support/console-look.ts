import type { Page } from 'playwright-core'

/** Whether a page is too wide, how many headings of the first level it has, and what looks as if it could be clicked and has no key. */
const IN_PAGE = `(() => {
  const { scrollWidth, clientWidth } = document.documentElement
  const REACHED = 'a[href], button, summary, label, select, input, textarea, option'
  const isReached = (one) => one.closest(REACHED) !== null || one.closest('[role=button]')?.tabIndex === 0
  const looks = [...document.querySelectorAll('main *')].filter((one) => one.role === 'button' || getComputedStyle(one).cursor === 'pointer')
  const unreachable = looks.filter((one) => !isReached(one)).map((one) => one.outerHTML.slice(0, 80))
  return [scrollWidth > clientWidth, document.querySelectorAll('h1').length, unreachable]
})()`

/** A page of each kind that reads something: lists, details, figures, forms, settings. */
export const KINDS = [
  ...['/', '/today', '/rfcs/:fiscal_entity_id', '/cfdi', '/cfdi/:uuid', '/cfdi/summary/monthly', '/exports', '/analytics/vat-position'],
  ...['/analytics/vat-position/entries', '/analytics/financing', '/extractors/:extractor_id', '/webhooks/:webhook_id', '/team'],
]

/** The pages that ask again by themselves. */
export const POLLED = [
  '/',
  '/rfcs/:fiscal_entity_id',
  '/exports',
  '/runs',
  '/runs/:run_id',
  '/webhooks/:webhook_id',
  '/storage/:connector_id',
]

/** What is wrong with a page as it stands, as lines; axe looks at its own part. */
export async function faultsOf(page: Page, complaints: string[]): Promise<string[]> {
  const [isWide, headings, unreachable] = (await page.evaluate(IN_PAGE)) as [boolean, number, string[]]
  return [
    ...complaints.splice(0),
    ...(isWide ? ['scrolls sideways'] : []),
    ...(headings === 1 ? [] : [`has ${headings} headings of the first level`]),
    ...unreachable.map((one) => `no key reaches ${one}`),
  ]
}

/** Lets a minute pass on the clock of a page, and its calls be answered. */
export async function passMinute(page: Page): Promise<void> {
  for (let past = 0; past < 60_000; past += 2_500) {
    await page.clock.runFor(2_500)
    await page.waitForTimeout(30)
  }
}

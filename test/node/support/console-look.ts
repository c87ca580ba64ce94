import type { Page } from 'playwright-core'
import { findings } from '../../../scripts/browser.ts'

/** Whether a page is too wide, how many headings of the first level it has, and what looks as if it could be clicked and has no key. */
const IN_PAGE = `(() => {
  const { scrollWidth, clientWidth } = document.documentElement
  const REACHED = 'a[href], button, summary, label, select, input, textarea, option, [tabindex="0"]'
  const unreachable = [...document.querySelectorAll('main *')].filter((one) => getComputedStyle(one).cursor === 'pointer' && !one.closest(REACHED))
  return [scrollWidth > clientWidth, document.querySelectorAll('h1').length, unreachable.map((one) => one.outerHTML.slice(0, 80))]
})()`

/** A page of each kind that reads something: lists, details, figures, forms, settings. */
export const KINDS = [
  ...['/', '/rfcs/:fiscal_entity_id', '/cfdi', '/cfdi/:uuid', '/cfdi/summary/monthly', '/cfdi/repse-suppliers', '/exports'],
  ...['/analytics/financing', '/analytics/vat-position', '/analytics/vat-position/entries', '/analytics/efos-exposure', '/reports/:report'],
  ...['/extractors/:extractor_id', '/runs/:run_id', '/webhooks/:webhook_id', '/storage/:connector_id', '/alerts'],
  ...['/team', '/credentials', '/billing', '/audit-events'],
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

/** What is wrong with a page as it stands, as lines. */
export async function faultsOf(page: Page, complaints: string[]): Promise<string[]> {
  const found = [...complaints.splice(0), ...(await findings(page))]
  const [isWide, headings, unreachable] = (await page.evaluate(IN_PAGE)) as [boolean, number, string[]]
  return [
    ...found,
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

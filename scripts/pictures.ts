/**
 * `npm run pictures`: takes the pictures of the console that README.md shows. It starts a service of its own with RFCs in every state, and
 * writes them into docs/pictures.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BrowserContext, Page } from 'playwright-core'
import { followLink, openBrowser, settle } from './browser.ts'
import { Customer, type Sync } from './customer.ts'
import { placeOf, Service } from './service.ts'
import { ROOT } from './wrangler.ts'

const FOLDER = join(ROOT, 'docs/pictures')
const VIEWPORT = { width: 1280, height: 860 }
/** The whole menu is to be seen, without scrolling. */
const MENU_HEIGHT = `(() => { const menu = document.getElementById('menu'); return innerHeight - menu.clientHeight + menu.scrollHeight })()`
const MOST_BYTES = 96 * 1024
/** From the best quality on, until a picture is small enough. */
const QUALITIES = [90, 80, 70, 60, 50, 40]
const WITHIN_MS = 2 * 60_000

/** RFCs of the authority's own examples, with the CIEC that decides what the sandbox does. */
const FINISHED = ['DEM050101AB9', 'XIA190128J61', 'EKU9003173C9'] as const
const REFUSED = 'CACX7605101P8'
const WAITING = { rfc: 'MISC491214B86', ciec: 'unavailable1' }

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + WITHIN_MS; !(await holds()); await sleep(250))
    if (Date.now() > end) throw new Error(`${what} took longer than ${WITHIN_MS / 60_000} minutes.`)
}

const isDone = ({ status, jobs }: Sync): boolean => status === 'idle' && jobs.total > 0

/** An organization with an RFC in each state, and an invoice that is paid in part. */
async function furnish(url: string): Promise<{ customer: Customer; invoice: string }> {
  const customer = await Customer.signUp(url, 'Despacho Kemper y Asociados')
  await customer.ask('POST', '/v1/test-helpers/organization', { plan: 'api' })
  const connect = async ({ rfc, ciec }: { rfc: string; ciec: string }) =>
    (await customer.ask<{ fiscal_entity_id: string }>('POST', '/v1/fiscal-entities', { rfc, ciec })).fiscal_entity_id
  const refused = await connect({ rfc: REFUSED, ciec: 'secreta1' })
  const finished: string[] = []
  for (const rfc of FINISHED) finished.push(await connect({ rfc, ciec: 'secreta1' }))
  for (const id of [refused, ...finished]) await until('A download', async () => isDone(await customer.sync(id)))
  const waiting = await connect(WAITING)
  await customer.ask('POST', `/v1/test-helpers/fiscal-entities/${refused}/expire-ciec`)
  await customer.ask('POST', `/v1/fiscal-entities/${refused}/extractions`, { data_source_keys: ['sat_cfdi_issued'], from: '2018-01-01' })
  await until('The refusal of a CIEC', async () => {
    const { status } = await customer.ask<{ status: string }>('GET', `/v1/fiscal-entities/${refused}`)
    return status === 'invalid_ciec'
  })
  // What is half done would be out of date in a picture, and as long as some run, the others are not said to wait.
  await until(
    'The end of what runs',
    async () => (await customer.sync(waiting)).jobs.running + (await customer.sync(waiting)).jobs.queued === 0,
  )
  for (const id of finished) await until('A download', async () => isDone(await customer.sync(id)))
  const query = `fiscal_entity_id=${finished[0]}&direction=issued&tipo_comprobante=I&payment_status=partially_paid&limit=1`
  const { data } = await customer.ask<{ data: { uuid: string }[] }>('GET', `/v1/cfdi?${query}`)
  return { customer, invoice: `/cfdi/${data[0]!.uuid}?fiscal_entity_id=${finished[0]}` }
}

/** A picture in WebP, which playwright does not write. */
async function take(context: BrowserContext, page: Page, name: string): Promise<void> {
  const session = await context.newCDPSession(page)
  for (const quality of QUALITIES) {
    const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality })
    const bytes = Buffer.from(data, 'base64')
    if (bytes.length > MOST_BYTES) continue
    const file = join(FOLDER, `${name}.webp`)
    writeFileSync(file, bytes)
    console.log(`${file}: ${Math.round(bytes.length / 1024)} KiB with quality ${quality}.`)
    return
  }
  throw new Error(`${name} is larger than ${MOST_BYTES / 1024} KiB.`)
}

const stateDir = mkdtempSync(join(tmpdir(), 'fiscal-pictures-'))
const place = placeOf({ ...process.env, STATE_DIR: stateDir })
const browser = await openBrowser()
const service = await Service.start(place, new AbortController().signal)
try {
  const { customer, invoice } = await furnish(place.url)
  const context = await browser.newContext({ viewport: VIEWPORT, colorScheme: 'light', locale: 'es-MX' })
  const page = await context.newPage()
  const { url } = await customer.ask<{ url: string }>('POST', '/console/links')
  mkdirSync(FOLDER, { recursive: true })
  await followLink(page, url)
  await page
    .locator('[data-rfc]')
    .nth(FINISHED.length + 1)
    .waitFor()
  await page.setViewportSize({ ...VIEWPORT, height: await page.evaluate<number>(MENU_HEIGHT) })
  await settle(page)
  await take(context, page, 'console-rfcs')
  await page.goto(`${place.url}/console${invoice}`)
  await settle(page)
  await take(context, page, 'console-cfdi')
} finally {
  await browser.close()
  await service.stop()
  rmSync(stateDir, { recursive: true, force: true })
}

import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chromiumPath, findings, LOOKS, openBrowser, settle } from '../../scripts/browser.ts'
import { ConsoleWorld } from './support/console-world.ts'
import { discard } from './support/runner.ts'

const isMissing = chromiumPath() === null
const name = isMissing ? 'exposure and risk in the console (skipped: there is no Chromium)' : 'exposure and risk in the console'

interface Answer {
  basis: { formulas: Record<string, string>; notes: string[] }
  drilldown?: Record<string, string>
  data: Record<string, unknown>[]
}
interface Entries {
  data: { uuid: string; amount: string }[]
  next_cursor: string | null
}

/** The surfaces, with what a page asks for when its address says nothing. */
const SURFACES: Record<string, string> = {
  '/cfdi/concentration': '&direction=issued',
  '/analytics/concepts': '&direction=received&level=family',
  '/analytics/fx-exposure': '',
  '/analytics/efos-exposure': '&direction=received',
  '/analytics/risk': '',
  '/cfdi/risk': '',
}
const PAGED = ['/cfdi/concentration', '/analytics/concepts', '/analytics/efos-exposure', '/cfdi/risk']
const ENGLISH = /\b(of|the|is|are|by|as|and|when)\b/

const pesos = (text: string): string =>
  new Intl.NumberFormat('es-MX', { style: 'currency', currency: 'MXN', currencyDisplay: 'narrowSymbol' })
    .format(text as `${number}`)
    .replace('-', '−')

/** What `textContent` and `innerText` say with other kinds of spaces. */
const plain = (text: string): string => text.replace(/\s+/g, ' ')

/** Every amount in MXN of the top of an answer and of its rows, by the name of the figure. */
const amountsOf = (row: Record<string, unknown>): [string, string][] =>
  Object.entries(row).flatMap(([key, value]): [string, string][] =>
    typeof value === 'string' && /(amount|total|mxn|_gain_loss|effect|acreditado)$/.test(key) && /^-?\d+\.\d\d$/.test(value)
      ? [[key, value]]
      : [],
  )

/** Every share, change and rate in percent. */
const ratesOf = (row: Record<string, unknown>): string[] =>
  Object.entries(row).flatMap(([key, value]) =>
    typeof value === 'string' && /(share|_pct|cancelled_rate)$/.test(key) && !key.startsWith('share_of')
      ? [`${new Intl.NumberFormat('es-MX', { minimumFractionDigits: 2 }).format(value as `${number}`).replace('-', '−')} %`]
      : [],
  )

describe.skipIf(isMissing)(name, () => {
  let world: ConsoleWorld
  let browser: Browser
  let context: BrowserContext
  let page: Page
  let complaints: string[]

  beforeAll(async () => {
    ;[world, browser] = await Promise.all([ConsoleWorld.start(), openBrowser()])
    ;({ context, page, complaints } = await world.enter(browser))
  })
  afterAll(async () => {
    await context?.close()
    await browser?.close()
    if (world) await discard(world.service.stateDir, [world.service])
  })

  const ask = <Body = Answer>(path: string): Promise<Body> => world.customer.ask<Body>('GET', path)
  const queryOf = (path: string): string => `fiscal_entity_id=${world.ids['fiscal_entity_id']}${SURFACES[path]}`
  const surface = (path: string): Promise<Answer> => ask(`/v1${path}?${queryOf(path)}${PAGED.includes(path) ? '&limit=25' : ''}`)
  const open = async (path: string): Promise<string> => {
    await page.goto(path.startsWith('http') ? path : world.addressOf(path))
    await settle(page)
    return plain(await page.locator('main').innerText())
  }
  const wholeText = async (): Promise<string> => plain((await page.locator('main').textContent()) ?? '')

  it.each(Object.keys(SURFACES))('%s: figures are the text of the API, and every formula stands there in Spanish', async (path) => {
    const answer = await surface(path)
    expect(answer.data.length).toBeGreaterThan(path === '/analytics/efos-exposure' ? -1 : 0)
    await open(path)
    const text = await wholeText()
    // Of a party that was cleared nothing is at risk.
    const rows = answer.data.map((row) => ('is_active' in row && !row['is_active'] ? { ...row, isr_effect: null } : row))
    const wanted = [answer as unknown as Record<string, unknown>, ...rows].flatMap(amountsOf)
    // Amounts in another currency than MXN, and those of a document in its own.
    const inPesos = wanted.filter(([key]) => !/^(issued_amount|received_amount|total)$/.test(key) || path.startsWith('/cfdi/concentration'))
    // A zero before the publication, where months are missing, is unknown: the page says so in its place.
    const isSaid = ([key, amount]: [string, string]) =>
      text.includes(plain(pesos(amount))) || (key === 'before_listing_amount' && amount === '0.00' && text.includes('— faltan meses'))
    expect(inPesos.filter((one) => !isSaid(one))).toEqual([])
    const rates = [answer as unknown as Record<string, unknown>, ...answer.data].flatMap(ratesOf)
    expect(rates.filter((rate) => !text.includes(rate))).toEqual([])
    for (const sentence of [...Object.values(answer.basis.formulas), ...answer.basis.notes].filter((one) => ENGLISH.test(one)))
      expect(text).not.toContain(plain(sentence))
    expect(text).toContain(plain(`GET /v1${path}?`))
    expect(complaints.splice(0)).toEqual([])
  })

  /** All entries behind a figure, and what they add up to with two places. */
  async function entriesOf(drilldown: string): Promise<{ all: Entries['data']; sum: string }> {
    const all: Entries['data'] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const asked: Entries = await ask<Entries>(`${drilldown}&limit=100${cursor && `&cursor=${cursor}`}`)
      all.push(...asked.data)
      cursor = asked.next_cursor
    }
    const micros = all.reduce((sum, { amount }) => sum + BigInt(amount.replace('.', '')), 0n)
    const cents = (micros + (micros < 0n ? -5_000n : 5_000n)) / 10_000n
    const text = String(cents < 0n ? -cents : cents).padStart(3, '0')
    return { all, sum: `${cents < 0n ? '-' : ''}${text.slice(0, -2)}.${text.slice(-2)}` }
  }

  it.each([
    ['/cfdi/concentration', 'total'],
    ['/analytics/concepts', 'amount'],
    ['/analytics/fx-exposure', 'realized_gain_loss'],
  ])('%s: the link of a figure (%s) opens the documents that add up to it, and leads back', async (path, figure) => {
    const row = (await surface(path)).data.at(-1) as Record<string, string> & { drilldown: Record<string, string> }
    const drilldown = row.drilldown[figure]!
    const { all, sum } = await entriesOf(drilldown)
    expect(all.length).toBeGreaterThan(0)
    expect(sum).toBe(row[figure])
    await open(path)
    const link = page.locator(`main a[href="${drilldown.replace('/v1/', '/console/')}"]`).first()
    expect(plain((await link.textContent()) ?? '')).toBe(plain(pesos(sum)))
    await link.focus()
    await page.keyboard.press('Enter')
    await page.waitForURL(`**${path}/entries?**`)
    const rows = page.locator('main tbody tr')
    for (;;) {
      await rows.first().waitFor()
      await settle(page)
      const more = page.getByRole('button', { name: 'Cargar más' })
      if ((await more.count()) === 0) break
      const before = await rows.count()
      await more.click()
      await rows.nth(before).waitFor()
    }
    const shown = await page.locator('main tbody td[data-name=Importe]').allTextContents()
    expect(shown.map(plain)).toEqual(all.map(({ amount }) => plain(pesos(amount))))
    // Each entry names its document, and opens it.
    const href = await rows.first().locator('a').first().getAttribute('href')
    expect(href).toContain(`/cfdi/${all[0]!.uuid}`)
    expect(await findings(page)).toEqual([])
    await page.getByRole('link', { name: 'Volver' }).click()
    await page.waitForURL((url) => url.pathname === `/console${path}`)
    expect(complaints.splice(0)).toEqual([])
  })

  it('what is chosen is in the address: the level of the flags, the other direction, the months', async () => {
    await open('/cfdi/risk')
    const first = (await surface('/cfdi/risk')).data[0] as { level: string; flags: { code: string; weight: number }[]; score: number }
    await page.getByLabel('Nivel').selectOption(first.level)
    await page.waitForURL(`**level=${first.level}**`)
    await page.getByLabel('Señal', { exact: true }).selectOption(first.flags[0]!.code)
    await page.waitForURL(`**code=${first.flags[0]!.code}**`)
    await settle(page)
    const asked = await ask(`/v1/cfdi/risk?${queryOf('/cfdi/risk')}&limit=25&level=${first.level}&code=${first.flags[0]!.code}`)
    await expect.poll(() => page.getByRole('region', { name: 'CFDI con riesgo' }).locator('tbody tr').count()).toBe(asked.data.length)
    expect(await page.getByRole('region', { name: 'CFDI con riesgo' }).locator('tbody tr').first().textContent()).toContain(
      `+${first.flags[0]!.weight}`,
    )

    await open('/cfdi/concentration')
    await page.getByRole('button', { name: 'Proveedores' }).click()
    await page.waitForURL('**direction=received**')
    await page.getByLabel('Desde').fill('2026-01')
    await page.waitForURL('**from=2026-01**')
    await page.getByText('Sus compras', { exact: true }).waitFor()
    await page.reload()
    await page.getByText('Sus compras', { exact: true }).waitFor()
    expect(await page.getByLabel('Desde').inputValue()).toBe('2026-01')
  })

  it('who is on the list of article 69-B stands there with both sides of the listing and the deadline', async () => {
    const real = await surface('/analytics/efos-exposure')
    const links = (figure: string) => `/v1/analytics/efos-exposure/entries?${queryOf('/cfdi/risk')}&figure=${figure}&rfc=EKU9003173C9`
    const figures = ['amount', 'invoice_count', 'before_listing_amount', 'after_listing_amount', 'paid_amount', 'unpaid_amount']
    const listed = {
      ...{ rfc: 'EKU9003173C9', name: 'Escuela Kemper Urgate', situacion: 'definitivo', presunto_dof_at: '2025-02-11' },
      ...{ definitivo_dof_at: '2026-03-04', resolved_at: null, invoice_count: 7, amount: '931234.56', iva_acreditado: '148997.53' },
      ...{ isr_effect: '279370.37', paid_amount: '900000.00', unpaid_amount: '31234.56', before_listing_amount: '31234.06' },
      ...{ after_listing_amount: '900000.50', correction_deadline: '2026-04-17', deadline_basis: 'estimated', is_active: true },
      drilldown: Object.fromEntries(figures.map((figure) => [figure, links(figure)])),
    }
    await page.route('**/v1/analytics/efos-exposure?*', (route) => route.fulfill({ json: { ...real, data: [listed] } }))
    const text = await open('/analytics/efos-exposure')
    for (const amount of ['31234.06', '900000.50', '931234.56', '279370.37']) expect(text).toContain(plain(pesos(amount)))
    expect(text).toContain('Definitivo')
    expect(text).toContain('17 abr 2026, estimado')
    expect(text).toContain('69-B Bis y 69 están, proveedor por proveedor y con los últimos 12 meses, en Proveedores')
    const after = page.getByRole('link', { name: /^Desde la publicación, Escuela Kemper Urgate/ })
    expect(await after.getAttribute('href')).toBe(links('after_listing_amount').replace('/v1/', '/console/'))
    expect(await findings(page)).toEqual([])
    await page.unroute('**/v1/analytics/efos-exposure?*')
  })

  it('missing months, nothing at all and a refusal are said', async () => {
    const real = (await surface('/cfdi/concentration')) as Answer & { data_quality: object }
    const answered = (more: object) => page.route('**/v1/cfdi/concentration?*', (route) => route.fulfill({ json: { ...real, ...more } }))
    const data_quality = { ...real.data_quality, months_missing: 4, months_downloading: 2 }
    await answered({ data: [], data_quality })
    const empty = await open('/cfdi/concentration')
    expect(empty).toContain('Meses que faltan: 4')
    expect(empty).toContain('Meses en camino: 2')
    expect(empty).toContain('No hay facturas en este periodo')
    await page.unroute('**/v1/cfdi/concentration?*')
    const refused = { detail: 'The range is too long.', code: 'range.invalid', request_id: 'req_7' }
    await page.route('**/v1/cfdi/concentration?*', (route) => route.fulfill({ status: 422, json: refused }))
    await open('/cfdi/concentration')
    await page.getByText('Solicitud req_7').waitFor()
    await page.unroute('**/v1/cfdi/concentration?*')
    await page.getByRole('button', { name: 'Reintentar' }).click()
    await page.getByText('Sus ventas', { exact: true }).waitFor()
  })

  it('on a phone, with everything unfolded, nothing scrolls sideways and axe finds nothing', async () => {
    const phone = await world.enter(browser, LOOKS.phone)
    const wrong: string[] = []
    for (const path of Object.keys(SURFACES)) {
      await phone.page.goto(world.addressOf(path))
      await settle(phone.page)
      await phone.page.evaluate('document.querySelectorAll("details").forEach((one) => { one.open = true })')
      const isWide = await phone.page.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth')
      wrong.push(...[...(await findings(phone.page)), ...(isWide ? ['scrolls sideways'] : [])].map((one) => `${path}: ${one}`))
    }
    await phone.context.close()
    expect(wrong).toEqual([])
  })

  it('the menu names the page that is open, and no page above it', async () => {
    const current = () => page.locator('#menu [aria-current=page]').allTextContents()
    for (const [path, at] of [
      ['/cfdi', 'CFDI'],
      ['/cfdi/:uuid', 'CFDI'],
      ['/cfdi/summary/monthly', 'Meses'],
      ['/cfdi/repse-suppliers', 'Proveedores'],
      ['/cfdi/concentration', 'Concentración'],
      ['/cfdi/concentration/entries', 'Concentración'],
      ['/cfdi/risk', 'CFDI con riesgo'],
      ['/analytics/risk/entries', 'Indicadores de riesgo'],
    ] as const) {
      await open(path)
      expect([path, await current()]).toEqual([path, [at]])
    }
  })

  it('in English the same figures stand with the formulas as the API states them', async () => {
    await open('/analytics/risk')
    await page.getByRole('button', { name: 'Cambiar a inglés' }).click()
    await page.getByRole('heading', { level: 1, name: 'Risk indicators' }).waitFor()
    const text = await wholeText()
    for (const { formula } of (await surface('/analytics/risk')).data as { formula: string }[]) expect(text).toContain(plain(formula))
    await page.getByRole('button', { name: 'Switch to Spanish' }).click()
    await page.getByRole('heading', { level: 1, name: 'Indicadores de riesgo' }).waitFor()
  })
})

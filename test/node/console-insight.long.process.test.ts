import { readFileSync } from 'node:fs'
import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { stepsOf } from '../../console/pages/insight/vat/steps.ts'
import { chromiumPath, openBrowser } from '../../scripts/browser.ts'
import { unzip } from '../authority/support/unzip.ts'
import { ConsoleWorld } from './support/console-world.ts'
import { discard } from './support/runner.ts'

const isMissing = chromiumPath() === null
const name = isMissing
  ? 'fiscal insight in the console (skipped: there is no Chromium; apt-get install chromium, or name one in CHROMIUM_PATH)'
  : 'fiscal insight in the console'

type Month = Parameters<typeof stepsOf>[0]
type Links = Record<string, string>

/** An amount as a page shows it, as the API says it: `$1,840.00` → `1840.00`. */
const plain = (shown: string | null): string => (shown ?? '').replace('−', '-').replace(/[^\d.-]/g, '')
const textOf = async (cursor: Locator): Promise<string> => plain(await cursor.textContent())

/** Decimal texts added up exactly, and rounded half up to cents. */
function added(amounts: readonly string[]): string {
  const micros = amounts.reduce((sum, text) => {
    const [whole = '', part = ''] = text.replace('-', '').split('.')
    const value = BigInt(whole) * 1_000_000n + BigInt(part.padEnd(6, '0'))
    return text.startsWith('-') ? sum - value : sum + value
  }, 0n)
  const cents = ((micros < 0n ? -micros : micros) + 5_000n) / 10_000n
  return `${micros < 0n && cents > 0n ? '-' : ''}${cents / 100n}.${String(cents % 100n).padStart(2, '0')}`
}

/** Every amount of a list of entries, page after page. */
async function allAmounts(page: Page): Promise<string[]> {
  const more = page.getByRole('button', { name: 'Cargar más' })
  await page.locator('tbody tr').first().waitFor()
  while (await more.isVisible()) {
    const before = await page.locator('tbody tr').count()
    await more.click()
    await page.locator('tbody tr').nth(before).waitFor()
  }
  return page.locator('tbody td:last-child data').evaluateAll((all) => all.map((one) => one.getAttribute('value') ?? ''))
}

describe('the steps of the waterfall', () => {
  const zero = '0.00'
  const row = (own: Partial<Record<string, unknown>>): Month =>
    ({
      period: '2026-05',
      cobrado: { iva_16: '1840.00', iva_8: zero, iva_otras: zero, retenido_por_clientes: '25.00' },
      pagado: { iva_16: '1504.00', iva_8: '10.00', iva_otras: zero, retenido_a_terceros: '320.00' },
      no_deducible_excluded: '80.00',
      retenido_acreditable: '220.00',
      month_before: { period: '2026-04', withheld_credited: '46.43', is_known: true },
      prorrateo: '0.892857',
      acreditable: '1130.36',
      saldo: '684.64',
      drilldown: { 'cobrado.iva_16': '/v1/here', retenido_acreditable: '/v1/here?period=2026-05&figure=retenido_acreditable' },
      ...own,
    }) as unknown as Month

  it('lead from what was collected to what the API says is the balance, each from where the one before it ends', () => {
    const steps = stepsOf(row({}))
    expect(steps.map(({ key }) => key)).toEqual([
      ...['cobrado.iva_16', 'pagado.iva_16', 'pagado.iva_8', 'no_deducible_excluded', 'retenido_acreditable'],
      ...['prorrateo', 'retenido_antes', 'acreditable', 'cobrado.retenido_por_clientes', 'saldo'],
    ])
    const moves = steps.filter(({ is }) => is === undefined)
    for (const [n, { levels, key }] of moves.entries()) {
      // What was withheld before ends where the API says that what is creditable ends, to the cent that it rounds.
      const tolerance = key === 'cobrado.retenido_por_clientes' ? 0.02 : 1e-9
      if (n > 0) expect(Math.abs(levels![0] - moves[n - 1]!.levels![1])).toBeLessThanOrEqual(tolerance)
    }
    expect(moves.at(-1)!.levels![1]).toBeCloseTo(684.64, 2)
    expect(steps.at(-1)!.levels).toEqual([0, 684.64])
    expect(steps.find(({ key }) => key === 'retenido_antes')).toMatchObject({
      ...{ text: '46.43', drilldown: '/v1/here?period=2026-04&figure=retenido_acreditable' },
    })
  })

  it('draw nothing of what is not known', () => {
    const steps = stepsOf(row({ prorrateo: null, acreditable: null, saldo: null }))
    expect(steps.filter(({ levels }) => levels === undefined).map(({ key }) => key)).toEqual(['acreditable', 'saldo'])
  })
})

describe.skipIf(isMissing)(name, () => {
  let world: ConsoleWorld
  let browser: Browser
  let entity: string

  beforeAll(async () => {
    ;[world, browser] = await Promise.all([ConsoleWorld.start(), openBrowser()])
    entity = world.ids['fiscal_entity_id']!
  })
  afterAll(async () => {
    await browser?.close()
    if (world) await discard(world.service.stateDir, [world.service])
  })

  const ask = <Answer>(path: string): Promise<Answer> => world.customer.ask<Answer>('GET', path)
  const open = async (path: string) => {
    const { context, page } = await world.enter(browser)
    await page.goto(`${world.service.url}/console${path}${path.includes('?') ? '&' : '?'}fiscal_entity_id=${entity}`)
    return { context, page }
  }

  it('what do I owe in VAT: every step is the API’s text, and opens the documents that add up to it', async () => {
    const { context, page } = await open('/analytics/vat-position')
    const { data } = await ask<{ data: Month[] }>(`/v1/analytics/vat-position?fiscal_entity_id=${entity}`)
    const row = data.findLast(({ is_partial, saldo }) => !is_partial && saldo !== null)!
    await page.locator('[data-step=saldo]').waitFor()
    const steps = stepsOf(row)
    // A balance in favour is called so, and has no sign.
    const unsigned = (text: string | null) => text?.replace(row.resultado === 'a_favor' ? '-' : '', '')
    for (const { key, text } of steps) {
      const shown = page.locator(`[data-step="${key}"] > span`).last()
      // The sign before the figure is a word of the page.
      expect([key, plain((await shown.textContent())!.replace(/^[−+×=]/, ''))]).toEqual([key, key === 'saldo' ? unsigned(text) : text])
    }
    const figure = row.cobrado.iva_16
    await page.locator('[data-step="cobrado.iva_16"] a').click()
    await page.getByRole('heading', { level: 1, name: /^IVA cobrado al 16 %/ }).waitFor()
    expect(added(await allAmounts(page))).toBe(figure)
    expect(await textOf(page.locator('main dd').first())).toBe(figure)

    // Another month, from the chart by keyboard.
    await page.goBack()
    await page.getByRole('group', { name: 'Saldo de IVA por mes' }).getByRole('link').first().focus()
    await page.keyboard.press('Enter')
    await page.waitForURL(new RegExp(`period=${data[0]!.period}`))
    await expect.poll(() => page.getByLabel('Mes', { exact: true }).inputValue()).toBe(data[0]!.period)
    // What was withheld the month before is of a month outside the range.
    await expect
      .poll(async () => plain((await page.locator('[data-step=retenido_antes] > span').last().textContent())!.replace('−', '')))
      .toBe(data[0]!.month_before.withheld_credited)
    await context.close()
  }, 120_000)

  it('what do I owe in ISR: each line is the API’s text, an input changes it, and it is printed and saved with its documents', async () => {
    const { context, page } = await open('/analytics/isr-provisional')
    const amountOf = (line: string) =>
      page
        .getByRole('row')
        .filter({ hasText: new RegExp(`^${line}`) })
        .locator('td[data-name=Importe]')
    await page.getByRole('cell', { name: 'Ingresos nominales × coeficiente de utilidad.' }).waitFor()
    expect(await amountOf('Utilidad fiscal').textContent()).toBe('—')
    await page.getByText('Escriba el coeficiente de utilidad').waitFor()
    await page.getByLabel('Coeficiente de utilidad').fill('2')
    await page.keyboard.press('Enter')
    expect(await page.getByLabel('Coeficiente de utilidad').getAttribute('aria-invalid')).toBe('true')
    await page.getByLabel('Coeficiente de utilidad').fill('0.1234')
    await page.keyboard.press('Enter')
    await page.waitForURL(/coefficient=0.1234/)
    const period = await page.getByLabel('Mes', { exact: true }).inputValue()
    const asked = `fiscal_entity_id=${entity}&period=${period}&regimen=601`
    const { data, a_pagar, declarado, diferencia } = await ask<{
      data: { line: string; value: string }[]
      a_pagar: string
      declarado: { isr_a_cargo: string }
      diferencia: string
    }>(`/v1/analytics/isr-provisional?${asked}&coefficient=0.1234`)
    await expect.poll(async () => plain(await amountOf('ISR a pagar').textContent())).toBe(a_pagar)
    const shown = await page.locator('main tbody td[data-name=Importe]').allTextContents()
    expect(shown.map((text) => (text.endsWith('%') ? '0.30' : plain(text)))).toEqual(data.map(({ value }) => value))
    expect((await page.locator('main dd').allTextContents()).slice(0, 3).map((text) => plain(text.split(' ')[0]!))).toEqual([
      ...[a_pagar, declarado.isr_a_cargo, diferencia],
    ])

    // All documents of the lines, in a workbook and in a PDF.
    const download = async (name: string) => {
      const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name, exact: true }).click()])
      return { name: file.suggestedFilename(), bytes: readFileSync(await file.path()) }
    }
    const workbook = await download('Excel')
    expect(workbook.name).toBe(`ISR_DEM050101AB9_${period.replace('-', '')}.xlsx`)
    const income = data.find(({ line }) => line === 'ingresos')!.value
    expect(unzip(workbook.bytes).get('xl/worksheets/sheet1.xml')).toContain(`<v>${income}</v>`)
    const pdf = await download('PDF')
    expect([pdf.name, pdf.bytes.subarray(0, 5).toString()]).toEqual([`ISR_DEM050101AB9_${period.replace('-', '')}.pdf`, '%PDF-'])

    // Its documents lead back to the same payment.
    await amountOf('Ingresos').first().locator('a').click()
    await page.getByRole('heading', { level: 1, name: /^Ingresos/ }).waitFor()
    expect(await textOf(page.locator('main dd').first())).toBe(income)
    await page.getByRole('link', { name: 'Volver' }).click()
    await expect.poll(() => page.getByLabel('Coeficiente de utilidad').inputValue()).toBe('0.1234')
    await context.close()
  }, 120_000)

  it('an RFC whose CIEC was refused says so on its pages, with the way out, and asks nothing that would be refused', async () => {
    const { context, page } = await world.enter(browser)
    // The page that the link opened asks about an active RFC.
    await page.goto('about:blank')
    const refused = (one: object) => ({ ...one, status: 'invalid_ciec', invalid_reason: 'rejected' })
    const one = await ask<object>(`/v1/fiscal-entities/${entity}`)
    await page.route(/\/v1\/fiscal-entities\/[^/?]+$/, (route) => route.fulfill({ json: refused(one) }))
    await page.route(/\/v1\/fiscal-entities\?/, (route) =>
      route.fulfill({ json: { data: [refused(one)], has_more: false, next_cursor: null } }),
    )
    const asked: string[] = []
    page.on('request', (request) => {
      const { pathname } = new URL(request.url())
      if (/^\/v1\/(cfdi|analytics)|^\/v1\/fiscal-entities\/[^/]+\//.test(pathname)) asked.push(pathname)
    })
    for (const path of [`/rfcs/${entity}`, '/cfdi', '/cfdi/summary/monthly', '/analytics/vat-position', '/cfdi/risk']) {
      await page.goto(`${world.service.url}/console${path}?fiscal_entity_id=${entity}`)
      await page.getByText('El SAT rechazó la CIEC. Hasta que la actualice no puede consultar lo ya descargado; no se borra.').waitFor()
      expect(await page.getByRole('link', { name: 'Actualizar acceso' }).getAttribute('href')).toContain(
        `/connect?fiscal_entity_id=${entity}`,
      )
    }
    expect(asked).toEqual([])
    await context.close()
  }, 60_000)

  it('a month of which nothing is known has no balance, and says so', async () => {
    const { context, page } = await world.enter(browser)
    type Answer = { data: Month[]; data_quality: Record<string, unknown> }
    const answer = await ask<Answer>(`/v1/analytics/vat-position?fiscal_entity_id=${entity}`)
    await page.route('**/v1/analytics/vat-position?*', async (route) => {
      const missing = { acreditable: null, saldo: null, resultado: null, prorrateo: null, diferencia: null }
      const data = answer.data.map((row) => ({ ...row, ...missing, data_status: { issued: 'complete', received: 'missing' } }))
      const months = { issued: [], received: [data[0]!.period] }
      await route.fulfill({
        json: { ...answer, data, data_quality: { ...answer.data_quality, months_missing: 12, missing_months: months } },
      })
    })
    await page.goto(world.addressOf('/analytics/vat-position'))
    await page.getByText('por eso no hay saldo').waitFor()
    await page.getByText('un cero no es un cero').waitFor()
    await page.getByText('Meses que faltan: 12').waitFor()
    expect(await page.locator('[data-step=saldo] > span').last().textContent()).toBe('=—')
    await context.close()
  }, 60_000)

  it('a zero of a month that was not downloaded is shown as no figure, on screen and in files; other zeros are', async () => {
    const { context, page } = await world.enter(browser)
    type Vat = { data: Month[] }
    type Row = { month: string; direction: string }
    const zeros = <T extends object>(row: T) =>
      Object.fromEntries(Object.entries(row).map(([name, value]) => [name, /^\d+\.\d\d$/.test(String(value)) ? '0.00' : value])) as T
    const vat = await ask<Vat>(`/v1/analytics/vat-position?fiscal_entity_id=${entity}`)
    const months = await ask<{ data: Row[] }>(`/v1/cfdi/summary/monthly?fiscal_entity_id=${entity}`)
    await page.route('**/v1/analytics/vat-position?*', (route) => {
      const data = vat.data.map((row) => ({
        ...{ ...row, cobrado: zeros(row.cobrado), pagado: zeros(row.pagado), at_risk_69b: '0.00' },
        data_status: { issued: 'complete', received: 'missing' },
      }))
      return route.fulfill({ json: { ...vat, data } })
    })
    await page.route('**/v1/cfdi/summary/monthly?*', (route) =>
      route.fulfill({
        json: {
          ...months,
          data: months.data.map((row) => ({ ...zeros(row), data_status: row.direction === 'issued' ? 'complete' : 'missing' })),
        },
      }),
    )
    await page.goto(world.addressOf('/analytics/vat-position'))
    const step = (name: string) => page.locator(`[data-step="${name}"] > span`).last().textContent()
    await page.locator('[data-step=saldo]').waitFor()
    expect([await step('cobrado.iva_16'), await step('pagado.iva_16')]).toEqual(['+$0.00', '−—'])
    const paid = page.locator('td[data-name="Pagado al 16 %"]')
    expect(new Set(await paid.allTextContents())).toEqual(new Set(['—']))
    await page.goto(world.addressOf('/cfdi/summary/monthly'))
    await page.locator('tbody tr').first().waitFor()
    const net = (direction: string) => page.getByRole('row').filter({ hasText: direction }).locator('td[data-name=Neto]').allTextContents()
    expect([new Set(await net('Emitidos')), new Set(await net('Recibidos'))]).toEqual([new Set(['$0.00']), new Set(['—'])])

    // Without a month there is no figure at all.
    type Concentration = { data_quality: object }
    const all = await ask<Concentration>(`/v1/cfdi/concentration?direction=issued&fiscal_entity_id=${entity}`)
    await page.route('**/v1/cfdi/concentration?*', (route) =>
      route.fulfill({
        json: { ...all, data: [], total: '0.00', data_quality: { ...all.data_quality, cfdi_total: 0, months_missing: 12 } },
      }),
    )
    await page.goto(world.addressOf('/cfdi/concentration'))
    await page.getByRole('heading', { name: 'De estos meses no se ha descargado nada' }).waitFor()
    expect(await page.locator('main').textContent()).not.toContain('$0.00')
    await context.close()
  }, 60_000)

  it('an address with wrong filters names each of them and takes it out, with figures and with their documents', async () => {
    const { context, page } = await open('/cfdi/concentration?direction=sideways&from=ayer')
    await page.getByRole('heading', { name: 'Un filtro de la dirección no vale' }).waitFor()
    await page.getByText('Debe ser un mes, AAAA-MM').waitFor()
    expect(await page.getByRole('button', { name: 'Reintentar' }).count()).toBe(0)
    await page.getByRole('alert').getByRole('button', { name: 'Quitar el filtro Desde' }).click()
    await page.getByText('Debe ser un mes, AAAA-MM').waitFor({ state: 'detached' })
    await page.getByRole('alert').getByRole('button', { name: 'Quitar el filtro Sentido' }).click()
    await page.locator('tbody tr').first().waitFor()
    expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({ fiscal_entity_id: entity })

    // Months that contradict each other, and a parameter that the entries do not have.
    await page.goto(`${world.addressOf('/analytics/vat-position')}&from=2026-05&to=2026-01`)
    await page.getByText('el final no puede ser anterior al principio').waitFor()
    await page.goto(`${world.addressOf('/analytics/vat-position/entries')}&figure=cobrado.iva_16&hola=3`)
    await page.getByRole('button', { name: 'Quitar el filtro hola' }).click()
    await page.locator('tbody tr').first().waitFor()
    await context.close()
  }, 60_000)

  it('withholdings and deductions: totals are the API’s texts, and lead to what they sum', async () => {
    type Totals = { totals: (Links & { drilldown: Links })[] }
    const { totals } = await ask<Totals>(`/v1/cfdi/withholdings?fiscal_entity_id=${entity}`)
    const last = totals.findLast(({ iva_por_enterar }) => iva_por_enterar !== '0.00')!
    const { context, page } = await open('/cfdi/withholdings')
    const href = (links: Links, figure: string) => `a[href="${links[figure]!.replace('/v1', '/console')}"]`
    const cell = page.locator(href(last.drilldown, 'iva_por_enterar'))
    expect(await textOf(cell)).toBe(last['iva_por_enterar'])
    await cell.click()
    await page.getByRole('heading', { level: 1, name: /^IVA por enterar/ }).waitFor()
    expect(added(await allAmounts(page))).toBe(last['iva_por_enterar'])
    // What differs is a filter of the rows.
    await page.goBack()
    await page.locator(href(last.drilldown, 'missing_count')).click()
    await page.waitForURL(/missing=true/)
    await page.getByRole('button', { name: 'Quitar el filtro Estado' }).waitFor()

    const deductions = await ask<Totals>(`/v1/cfdi/deductions?fiscal_entity_id=${entity}`)
    const row = deductions.totals.find(({ deductible_amount }) => deductible_amount !== '0.00')!
    await page.goto(world.addressOf('/cfdi/deductions'))
    const deducted = page.locator(href(row.drilldown, 'deductible_amount'))
    expect(await textOf(deducted)).toBe(row['deductible_amount'])
    await deducted.click()
    await page.getByRole('heading', { level: 1, name: /^Deducible/ }).waitFor()
    expect(added(await allAmounts(page))).toBe(row['deductible_amount'])
    await context.close()
  }, 120_000)

  it('from a month to its export in one click, and on from a list without a match; codes have their names', async () => {
    const { context, page } = await open('/cfdi/summary/monthly')
    await page
      .getByRole('link', { name: /^Exportar los CFDI de .*, Recibidos$/ })
      .first()
      .click()
    await page.getByRole('dialog').getByRole('heading', { name: 'Exportar' }).waitFor()
    const filters = Object.fromEntries(new URL(page.url()).searchParams)
    const { issued_from, issued_to } = filters as { issued_from: string; issued_to: string }
    expect([filters['direction'], issued_from, issued_from.slice(0, 7)]).toEqual([
      'received',
      `${issued_to.slice(0, 7)}-01`,
      issued_to.slice(0, 7),
    ])
    const days = new Intl.DateTimeFormat('es-MX', { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' })
    const [from, to] = [issued_from, issued_to].map((one) => days.format(Date.parse(one)))
    await page.getByText(`Emitido desde: ${from} · Emitido hasta: ${to}`).waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Comenzar' }).click()
    await page.getByRole('heading', { level: 1, name: 'Exportaciones' }).waitFor()
    const { data } = await ask<{ data: { filters: object; fiscal_entity_id: string }[] }>('/v1/exports')
    expect(data[0]).toMatchObject({ fiscal_entity_id: entity, filters: { direction: 'received', issued_from, issued_to } })

    await page.goto(`${world.service.url}/console/analytics/vat-position?fiscal_entity_id=${entity}`)
    await page.getByRole('link', { name: 'Exportar los CFDI con fecha del mes' }).click()
    await page.getByText(/^Emitido desde: /).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(new URL(page.url()).searchParams.has('export')).toBe(false)

    await page.goto(`${world.service.url}/console/cfdi?fiscal_entity_id=${entity}&forma_pago=30&tipo_relacion=04,77&q=nadie`)
    await page.getByText('Ningún CFDI coincide').waitFor()
    for (const chip of ['30 – Aplicación de anticipos', '04 – Sustitución de CFDI previos, 77'])
      await page.getByRole('group', { name: 'Filtros' }).getByText(chip).first().waitFor()
    await page.getByRole('button', { name: 'Exportar todo lo de este RFC' }).click()
    await page.getByText('Sin filtros: se exportan todos los documentos de este RFC.').waitFor()
    await page.goBack()
    await page.getByRole('button', { name: 'Quitar los filtros' }).click()
    await page.locator('tbody tr').first().waitFor()
    expect(Object.keys(Object.fromEntries(new URL(page.url()).searchParams))).toEqual(['fiscal_entity_id'])
    await context.close()
  }, 60_000)

  it('the tax mailbox: the nearest deadline first, what nobody opened in time is said, and its letter can be had', async () => {
    const { context, page } = await world.enter(browser)
    const day = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString()
    const one = (title: string, more: object) => ({
      ...{ notification_id: `ntf_${title}`, kind: 'requerimiento', title, authority: 'SAT', document_number: null, sent_at: day(-3) },
      ...{ open_deadline: null, deadline_basis: 'published', effective_at: null, opened_at: null, days_left: null },
      ...{ severity: 'warning', has_document: true, document_kind: 'oficio', ...more },
    })
    const open = (title: string, days: number) =>
      one(title, { status: 'pending', open_deadline: day(days).slice(0, 10), effective_at: day(days + 1), days_left: days })
    const over = one('Tres', { status: 'notified_by_expiry', severity: 'critical', effective_at: '2026-01-15T06:00:00.000Z' })
    await page.route('**/buzon/notifications?*', (route) => {
      const isOpen = route.request().url().includes('status=pending')
      const data = isOpen ? [open('Dos', 5), open('Uno', 2)] : [open('Dos', 5), over, open('Uno', 2)]
      return route.fulfill({ json: { data, has_more: false, next_cursor: null } })
    })
    let asked = 0
    await page.route('**/buzon/document?*', (route) => {
      asked += 1
      return asked === 1
        ? route.fulfill({ status: 202, headers: { 'retry-after': '0' }, json: { status: 'fetching', retry_after_seconds: 0 } })
        : route.fulfill({
            contentType: 'application/pdf',
            headers: { 'content-disposition': 'attachment; filename="oficio.pdf"' },
            body: '%PDF-',
          })
    })
    await page.goto(`${world.service.url}/console/rfcs/${entity}`)
    const panel = page.locator('section', { has: page.getByRole('heading', { name: 'Buzón tributario' }) })
    await panel.getByText('Tres').waitFor()
    expect(await panel.locator('li b').allTextContents()).toEqual(['Uno', 'Dos', 'Tres'])
    await panel.getByText('quedan 2 días hábiles').waitFor()
    await panel.getByText('Nadie la abrió a tiempo: se da por notificada desde el 15 ene 2026').waitFor()
    expect(await panel.getByRole('button').count()).toBe(1)
    await panel.getByRole('button', { name: 'Descargar el oficio: Tres' }).click()
    await expect.poll(() => asked).toBeGreaterThan(1)
    await context.close()
  }, 60_000)

  it('a figure of a past day leads to its documents as they stood then, and one of today to documents as they stand', async () => {
    const { context, page } = await open('/analytics/financing')
    const past = new Date(Date.now() - 60 * 86_400_000).toISOString().slice(0, 10)
    for (const [path, figure] of [
      ['/analytics/financing', 'receivables.outstanding'],
      ['/analytics/fx-exposure', 'total_sales'],
      ['/analytics/efos-exposure', 'total_purchases'],
    ] as const)
      for (const day of [past, null]) {
        await page.goto(`${world.addressOf(path)}${day ? `&as_of=${day}` : ''}`)
        await page.locator(`main a[href*="/entries?"][href*="figure=${figure}"]`).first().click()
        const row = page.locator('tbody tr').first().getByRole('link').first()
        const href = (await row.getAttribute('href'))!
        expect([path, day, new URLSearchParams(href.slice(href.indexOf('?'))).get('as_of')]).toEqual([path, day, day])
        await row.click()
        await page.getByRole('heading', { name: 'Historia' }).waitFor()
        expect(await page.getByText('Así estaba este CFDI al cierre del').isVisible()).toBe(day !== null)
      }
    await context.close()
  }, 120_000)

  it('reports: bounded, being made, read, and downloaded as the API’s table', async () => {
    const { context, page } = await open('/reports')
    await page.getByRole('link', { name: 'DIOT' }).click()
    await page.getByText('Este reporte necesita toda la historia').waitFor()
    const { data_quality, basis } = await ask<{ data_quality: unknown; basis: unknown }>(
      `/v1/analytics/vat-position?fiscal_entity_id=${entity}`,
    )
    const rates = ['base_16', 'iva_16', 'base_8', 'iva_8', 'base_0', 'base_exento', 'base_otras', 'iva_otras', 'iva_retenido']
    const drilldown = { iva_16: `/v1/analytics/vat-position/entries?fiscal_entity_id=${entity}&period=2026-05&figure=pagado.iva_16` }
    const row = {
      ...{ period: '2026-05', is_partial: false, rfc: 'AAA010101AAA', name: null, tipo_tercero: '04', tipo_operacion: '85', drilldown },
      ...Object.fromEntries(rates.map((member, n) => [member, `${n}1234.50`])),
    }
    const report = {
      key: 'diot',
      generated_at: '2026-06-01T00:00:00.000Z',
      source_watermark: '2026-06-01T00:00:00.000Z',
      through: null,
      is_stale: true,
    }
    let asked = 0
    await page.route('**/v1/reports/diot?*', (route) => {
      const url = route.request().url()
      if (route.request().headers()['accept'] === 'text/csv') {
        const isSecond = url.includes('cursor=')
        const next = `</v1/reports/diot?fiscal_entity_id=${entity}&limit=100&cursor=c>; rel="next"`
        return route.fulfill({
          headers: { 'content-type': 'text/csv', ...(!isSecond && { link: next }) },
          body: `period,rfc\r\n${isSecond ? '2026-06,B' : '2026-05,A'}\r\n`,
        })
      }
      asked += 1
      return asked === 1
        ? route.fulfill({ status: 202, json: { status: 'building', key: 'diot', retry_after_seconds: 15 } })
        : route.fulfill({ json: { ...report, data: { basis, data_quality, rows: [row] }, has_more: false, next_cursor: null } })
    })
    await page.reload()
    await page.getByText('El reporte se está preparando').waitFor()
    await page.getByText('AAA010101AAA').waitFor({ timeout: 15_000 })
    expect(await textOf(page.locator('td[data-name="IVA 16 %"]'))).toBe(row['iva_16' as keyof typeof row])
    await page.getByText('Hay algo más nuevo').waitFor()
    const saved = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Descargar CSV' }).click()
    const file = await saved
    expect(file.suggestedFilename()).toBe('DEM050101AB9-diot.csv')
    expect(readFileSync(await file.path(), 'utf8')).toBe('\uFEFFperiod,rfc\r\n2026-05,A\r\n2026-06,B\r\n')
    await context.close()
  }, 60_000)
})

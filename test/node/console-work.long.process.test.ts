import { readFileSync } from 'node:fs'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chromiumPath, findings, followLink, listen, openBrowser, settle } from '../../scripts/browser.ts'
import { Customer, randomRfc } from '../../scripts/customer.ts'
import { CODES as codes } from '../../src/cfdi/codes.ts'
import { makeEfirma } from '../../tools/stand-in/certificates.ts'
import { ConsoleWorld } from './support/console-world.ts'
import { discard } from './support/runner.ts'

const money = (text: string, currency: string): string => {
  const own = { style: 'currency', currency, currencyDisplay: 'narrowSymbol' } as const
  return `${new Intl.NumberFormat('es-MX', own).format(text as `${number}`)}${currency === 'MXN' ? '' : ` ${currency}`}`
}

interface Listed {
  uuid: string
  total: string
  currency: string
  balance: string | null
}
interface Application {
  amount: string
  currency: string
  counts: boolean
}

describe.skipIf(chromiumPath() === null)('daily work in the console', () => {
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

  const at = (path: string): string => `${world.service.url}/console${path}`
  const ask = <Body>(path: string): Promise<Body> => world.customer.ask<Body>('GET', path)

  async function enter(customer: Customer): Promise<{ page: Page; complaints: string[]; leave: () => Promise<void> }> {
    const context = await browser.newContext({ locale: 'es-MX', viewport: { width: 1280, height: 900 }, acceptDownloads: true })
    const page = await context.newPage()
    const complaints = listen(page, world.service.url)
    await followLink(page, await world.link(customer))
    return { page, complaints, leave: () => context.close() }
  }

  const rowsOf = (page: Page, label: string) => page.getByRole('region', { name: label }).locator('tbody tr')
  const saved = async (page: Page, press: () => Promise<void>): Promise<{ name: string; content: Buffer }> => {
    const [file] = await Promise.all([page.waitForEvent('download'), press()])
    return { name: file.suggestedFilename(), content: readFileSync(await file.path()) }
  }

  it('a file is imported, its refusal is explained, and the import is undone', async () => {
    const { page, complaints, leave } = await enter(world.customer)
    await page.goto(at(`/imports?fiscal_entity_id=${entity}`))
    await page.locator('input[type=file]').setInputFiles({ name: 'malo.xml', mimeType: 'application/xml', buffer: Buffer.from('<nada/>') })
    await page.getByRole('button', { name: 'Importar', exact: true }).click()
    const rows = rowsOf(page, 'Importaciones')
    await rows.first().getByText('Lista', { exact: true }).waitFor()
    await rows
      .first()
      .getByRole('button', { name: /^Ver resultado/ })
      .click()
    await page.getByRole('dialog').getByText('El archivo no es un CFDI.').waitFor()
    await settle(page)
    expect(await findings(page)).toEqual([])
    await page.getByRole('dialog').getByRole('button', { name: 'Cerrar' }).last().click()
    await rows
      .first()
      .getByRole('button', { name: /^Deshacer/ })
      .click()
    await page.getByRole('dialog').getByRole('button', { name: 'Deshacer', exact: true }).click()
    await page.getByRole('heading', { name: 'Todavía no hay importaciones de este RFC' }).waitFor()
    expect(complaints).toEqual([])
    await leave()
  })

  it('a list says how many documents match and what they add up to, as the API does', async () => {
    const { page, complaints, leave } = await enter(world.customer)
    const query = `fiscal_entity_id=${entity}&direction=issued&estatus=vigente&tipo_comprobante=I`
    const { count, data } = await ask<{ count: number; data: { currency: string; total: string }[] }>(`/v1/cfdi/summary?${query}`)
    await page.goto(at(`/cfdi?${query}`))
    const summary = page.locator('main details', { hasText: 'cuántos y cuánto' })
    await summary.waitFor()
    expect(await summary.locator('summary').textContent()).toContain(`${new Intl.NumberFormat('es-MX').format(count)} CFDI`)
    const shown = await summary.locator('li b').allTextContents()
    expect(shown.map((text) => text.trim())).toEqual(data.map(({ total, currency }) => money(total, currency)))
    expect(complaints).toEqual([])
    await leave()
  })

  it('an unpaid invoice is found by keyboard: chips, address and rows are those of the API', async () => {
    const { page, complaints, leave } = await enter(world.customer)
    const shown = async () => {
      const asked = new URL(page.url()).searchParams
      const { data } = await ask<{ data: Listed[] }>(`/v1/cfdi?${asked}&limit=25`)
      const links = () =>
        rowsOf(page, 'Lista de CFDI')
          .locator('td:first-child a')
          .evaluateAll((all) => all.map((one) => one.getAttribute('href')!))
      await expect
        .poll(async () => (await links()).slice(0, 25).map((href) => /cfdi\/([^?]+)/.exec(href)![1]), { timeout: 15_000 })
        .toEqual(data.map(({ uuid }) => uuid))
      return data
    }
    await page.goto(`${at('/cfdi')}?fiscal_entity_id=${entity}`)
    await shown()
    // The end of the list brings the next page.
    await page.evaluate('scrollTo(0, document.body.scrollHeight)')
    await rowsOf(page, 'Lista de CFDI').nth(25).waitFor()
    // A document, and back to the same place with the same pages.
    const scrolled = () => page.evaluate<number>('scrollY')
    await rowsOf(page, 'Lista de CFDI').nth(25).getByRole('link').first().focus()
    const place = await scrolled()
    expect(place).toBeGreaterThan(300)
    await page.keyboard.press('Enter')
    await page.waitForURL('**/cfdi/*-*')
    await expect.poll(scrolled).toBe(0)
    await page.goBack()
    await expect.poll(scrolled, { timeout: 5_000 }).toBe(place)
    // A page that is gone to is told to whoever cannot see it.
    await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('main')

    await page.keyboard.press('/')
    expect(await page.evaluate('document.activeElement.type')).toBe('search')
    await page.getByRole('button', { name: 'Filtro', exact: true }).focus()
    await page.keyboard.press('Enter')
    await page.getByLabel('Sentido').selectOption('issued')
    await page.getByLabel('Pago', { exact: true }).selectOption('unpaid,partially_paid')
    await page.getByLabel('Método de pago').selectOption('PPD')
    await page.keyboard.press('Escape')
    expect(await page.getByRole('group', { name: 'Filtros' }).locator('b').allTextContents()).toEqual([
      'Emitidos',
      'Vigente',
      'Con saldo',
      'PPD – Pago en parcialidades o diferido',
    ])
    expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({
      ...{ fiscal_entity_id: entity, direction: 'issued', payment_status: 'unpaid,partially_paid', metodo_pago: 'PPD' },
      estatus: 'vigente',
    })
    const [first] = await shown()
    const row = rowsOf(page, 'Lista de CFDI').first()
    expect(await row.locator('[data-name=Saldo]').textContent()).toBe(money(first!.balance!, first!.currency))
    await page.reload()
    await shown()
    await row.getByRole('link').focus()
    await page.keyboard.press('Enter')
    await page.waitForURL(`**/cfdi/${first!.uuid}?**`)
    const back = page.getByRole('link', { name: 'Volver a los CFDI' })
    expect(new URL((await back.getAttribute('href'))!, page.url()).searchParams.get('payment_status')).toBe('unpaid,partially_paid')
    // Whoever cannot see it is told of the page.
    expect(await page.evaluate('document.activeElement.id')).toBe('main')
    await page.getByRole('heading', { name: 'Pagos y notas de crédito' }).waitFor()
    await page.goBack()
    await page.getByLabel('Quitar el filtro Método de pago').focus()
    await page.keyboard.press('Enter')
    await shown()
    expect(complaints).toEqual([])
    await leave()
  }, 120_000)

  it('an address with a wrong filter names it and takes it out; what is no filter is told, and a past day is said', async () => {
    const { page, complaints, leave } = await enter(world.customer)
    await page.goto(`${at('/cfdi')}?fiscal_entity_id=${entity}&direction=sideways&hola=3`)
    await page.getByRole('heading', { name: 'Un filtro de la dirección no vale' }).waitFor()
    await page.getByText('La dirección trae «hola», que no es un filtro de esta lista').waitFor()
    expect(await page.getByRole('button', { name: 'Reintentar' }).count()).toBe(0)
    await page.getByRole('button', { name: 'Quitarlo' }).click()
    await page.getByRole('alert').getByRole('button', { name: 'Quitar el filtro Sentido' }).click()
    await rowsOf(page, 'Lista de CFDI').first().waitFor()
    expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({ fiscal_entity_id: entity })

    const past = new Date(Date.now() - 40 * 86_400_000).toISOString().slice(0, 10)
    await page.goto(`${at('/cfdi')}?fiscal_entity_id=${entity}&as_of=${past}`)
    await page.getByText('Así estaban estos CFDI al cierre del ').waitFor()
    expect(await page.getByText('tal como están en el SAT').count()).toBe(0)
    await page.getByRole('button', { name: 'Ver como están hoy' }).click()
    await page.getByText('tal como están en el SAT').waitFor()
    expect(complaints).toEqual([])
    await leave()
  }, 60_000)

  it('a payment shows what it pays instead of its zeros, in the list and on its page', async () => {
    const { page, complaints, leave } = await enter(world.customer)
    const { data } = await ask<{ data: { uuid: string }[] }>(`/v1/cfdi?fiscal_entity_id=${entity}&tipo_comprobante=P&has_xml=true&limit=1`)
    const { uuid } = data[0]!
    const { pagos } = await ask<{ pagos: { monto: string; moneda_p: string }[] }>(`/v1/cfdi/${uuid}?fiscal_entity_id=${entity}`)
    await page.goto(`${at('/cfdi')}?fiscal_entity_id=${entity}&tipo_comprobante=P&has_xml=true`)
    const row = rowsOf(page, 'Lista de CFDI').first()
    expect(await row.locator('[data-name=Total]').textContent()).toBe('—')
    await row.getByRole('link').click()
    await page.getByRole('link', { name: 'Imprimir (PDF)' }).waitFor()
    expect(
      await page.locator('main dt:text-is("Monto pagado") + dd', { hasText: money(pagos[0]!.monto, pagos[0]!.moneda_p) }).count(),
    ).toBeGreaterThan(0)
    expect(complaints).toEqual([])
    await leave()
  }, 60_000)

  it('an invoice: payments with what does not count and why, relations as a graph, its XML, and its PDF', async () => {
    const { page, complaints, leave } = await enter(world.customer)
    const uuid = world.ids['uuid']!
    const path = `/v1/cfdi/${uuid}`
    const query = `fiscal_entity_id=${entity}`
    const payments = await ask<{ data: Application[]; currency: string; balance: string }>(`${path}/payments?${query}`)
    expect(payments.data.length).toBeGreaterThan(0)
    const reasons = ['cancelled', 'other_parties', 'currency_mismatch', 'missing_rate', 'substituted']
    const not = reasons.map((reason, n) => ({
      ...payments.data[0],
      ...{ counts: false, not_counted_reason: reason, num_parcialidad: String(n + 90), warnings: n === 0 ? ['receiver_differs'] : [] },
    }))
    await page.route('**/payments?*', (route) => route.fulfill({ json: { ...payments, data: [...payments.data, ...not] } }))
    const cfdi = { tipo_comprobante: 'E', serie: 'NC', folio: '7', fecha: '2026-01-02T10:00:00', estatus: 'vigente', is_substituted: false }
    const edge = (side: string, relation: string, one: object | null, n: number) => ({
      ...{ side, relation, uuid: `${n}1111111-1111-4111-8111-111111111111`, cfdi: one },
    })
    await page.route('**/relations?*', (route) =>
      route.fulfill({
        json: {
          ...{ data: [edge('refers_to', '04', cfdi, 1), edge('referred_by', '01', cfdi, 2), edge('referred_by', '07', null, 3)] },
          ...{ has_more: false, next_cursor: null },
        },
      }),
    )
    await page.goto(`${at(`/cfdi/${uuid}`)}?${query}`)
    const rows = rowsOf(page, 'Pagos y notas de crédito')
    await rows.first().waitFor()
    expect(await rows.locator('[data-name="Cuenta para el saldo"]').allInnerTexts()).toEqual([
      ...payments.data.map(() => 'Sí'),
      expect.stringMatching(/^No: está cancelado\s+El pago es de otro receptor$/),
      ...['No: es de otras partes', 'No: es de otra moneda', 'No: falta el tipo de cambio', 'No: otro lo sustituye'],
    ])
    expect(await rows.locator('[data-name=Importe]').first().textContent()).toBe(
      money(payments.data[0]!.amount, payments.data[0]!.currency),
    )
    expect(
      await page
        .locator('main dd')
        .filter({ hasText: money(payments.balance, payments.currency) })
        .count(),
    ).toBeGreaterThan(0)

    // What it names stands at its left, what names it at its right.
    const graph = page.locator('section').filter({ has: page.getByRole('heading', { name: 'Relaciones' }) })
    const leftOf = async (text: string) => (await graph.getByText(text, { exact: true }).first().boundingBox())!.x
    const places = [await leftOf('Nombra a'), await leftOf('Este CFDI'), await leftOf('Lo relacionan')]
    expect(places).toEqual([...places].sort((a, b) => a - b))
    expect(await graph.getByRole('link').count()).toBe(2)
    await graph.getByText('No está en sus documentos').waitFor()

    const xml = await saved(page, () => page.getByRole('link', { name: 'XML', exact: true }).click())
    const { api_key, api_secret } = world.customer.credential
    const notified = await fetch(`${world.service.url}${path}/xml?${query}`, {
      headers: { authorization: `Basic ${btoa(`${api_key}:${api_secret}`)}` },
    })
    expect([xml.name, xml.content.equals(Buffer.from(await notified.arrayBuffer()))]).toEqual([`${uuid}.xml`, true])

    const coded = await ask<Record<'forma_pago' | 'metodo_pago' | 'uso_cfdi', string>>(`${path}?${query}`)
    for (const name of ['forma_pago', 'metodo_pago', 'uso_cfdi'] as const)
      expect(await page.locator('main').innerText()).toContain(
        `${coded[name]} – ${(codes.es[name] as Record<string, string>)[coded[name]]}`,
      )
    const pdf = await page.getByRole('link', { name: 'Imprimir (PDF)' }).getAttribute('href')
    expect(pdf).toBe(`${path}/pdf?${query}&language=es`)
    const printed = await page.evaluate(`fetch(${JSON.stringify(pdf)}).then((one) => one.text()).then((text) => text.slice(0, 5))`)
    expect(printed).toBe('%PDF-')
    expect(complaints).toEqual([])
    await leave()
  }, 60_000)

  it('an RFC: its windows on the line, and each month of its coverage with what the API says of it', async () => {
    const { page, complaints, leave } = await enter(world.customer)
    type Month = { source: string; month: string; status: string; held_count: number; with_xml_count: number }
    const months: Month[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const part: { data: Month[]; next_cursor: string | null } = await ask(
        `/v1/fiscal-entities/${entity}/coverage?limit=100${cursor && `&cursor=${cursor}`}`,
      )
      months.push(...part.data)
      cursor = part.next_cursor
    }
    await page.goto(at(`/rfcs/${entity}`))
    await settle(page)
    const { windows } = await ask<{ windows: Record<string, { visible_from: string }> }>(`/v1/fiscal-entities/${entity}`)
    const day = (text: string) => new Intl.DateTimeFormat('es-MX', { dateStyle: 'medium', timeZone: 'UTC' }).format(new Date(text))
    const line = page.getByRole('img', { name: /^Lo que puede ver: Emitidos, / })
    const said = (await line.getAttribute('aria-label'))!
    for (const source of ['sat_cfdi_issued', 'sat_cfdi_received']) expect(said).toContain(`${day(windows[source]!.visible_from)} →`)
    // Each window begins on the line where its day is between 2018 and today.
    const [whole, window] = await line
      .locator('rect')
      .evaluateAll((all) => all.slice(0, 2).map((one) => one.getBoundingClientRect().toJSON() as { x: number; width: number }))
    const begin = Date.UTC(2018, 0, 1)
    const share = (Date.parse(windows['sat_cfdi_issued']!.visible_from) - begin) / (Date.now() - begin)
    expect((window!.x - whole!.x) / whole!.width).toBeCloseTo(share, 1)

    const cells = page.locator('main g[role=button]')
    expect(await cells.count()).toBe(months.length)
    const one = months.find(({ with_xml_count }) => with_xml_count > 0)!
    const name = new Intl.DateTimeFormat('es-MX', { month: 'long', year: 'numeric', timeZone: 'UTC' }).format(new Date(`${one.month}-01`))
    const source = one.source === 'sat_cfdi_issued' ? 'Emitidos' : 'Recibidos'
    await page.getByRole('button', { name: new RegExp(`^${source}, ${name}`) }).focus()
    await page.keyboard.press('Enter')
    const facts = page.locator('[role=status]').filter({ has: page.getByRole('heading', { name: new RegExp(name) }) })
    expect(await facts.locator('dt:text-is("Guardados") + dd').textContent()).toBe(String(one.held_count))
    expect(await facts.locator('dt:text-is("Con XML") + dd').textContent()).toBe(String(one.with_xml_count))
    await facts.getByRole('link', { name: 'Ver los CFDI de ese mes' }).click()
    await page.waitForURL(`**/cfdi?**issued_from=${one.month}-01**`)
    expect(complaints).toEqual([])
    await leave()
  }, 60_000)

  it('October is exported: the file is the API’s', async () => {
    const { page, complaints, leave } = await enter(world.customer)
    await page.goto(`${at('/cfdi')}?fiscal_entity_id=${entity}&issued_from=2025-10-01&issued_to=2025-10-31`)
    await page.getByRole('button', { name: 'Exportar' }).click()
    await page.getByRole('dialog').getByText('Emitido desde: ').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancelar' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Exportar' }).click()
    const { rfc } = await ask<{ rfc: string }>(`/v1/fiscal-entities/${entity}`)
    await page.getByRole('dialog').getByText(rfc).waitFor()
    await page.getByRole('dialog').getByText('Documentos: ').waitFor()
    await page.getByRole('dialog').getByLabel('Formato').selectOption('csv')
    await page.getByRole('dialog').getByRole('button', { name: 'Comenzar' }).click()
    await page.getByRole('heading', { level: 1, name: 'Exportaciones' }).waitFor()
    const link = rowsOf(page, 'Exportaciones')
      .first()
      .getByRole('link', { name: /^Descargar/ })
    await link.waitFor({ timeout: 240_000 })
    const { name, content } = await saved(page, () => link.click())
    expect(name).toBe(`${rfc}-cfdi-2025-10.csv`)
    const { data } = await ask<{ data: Listed[] }>(
      `/v1/cfdi?fiscal_entity_id=${entity}&issued_from=2025-10-01&issued_to=2025-10-31&limit=100`,
    )
    const text = content.toString()
    expect(text).toMatch(/^\ufeffUUID,Identificador del RFC,Sentido,/)
    expect(text.trim().split('\n')).toHaveLength(data.length + 1)
    expect(data.filter(({ uuid }) => !text.includes(uuid))).toEqual([])
    expect(complaints).toEqual([])
    await leave()
  }, 120_000)

  it('suppliers: a list leaves those who are on it, as the API has them; one that nobody has is taken out', async () => {
    const { page, complaints, leave } = await enter(world.customer)
    type Suppliers = { suppliers: { rfc: string }[] }
    const suppliers = async (more = '') =>
      (await ask<Suppliers>(`/v1/cfdi/repse-suppliers?fiscal_entity_id=${entity}&limit=200${more}`)).suppliers.map(({ rfc }) => rfc)
    const all = await suppliers()
    const rfc = all.at(-1)!
    await world.customer.ask('POST', '/v1/blacklists/custom', { slug: 'vetados', label: 'Vetados' })
    await world.customer.ask('PUT', '/v1/blacklists/custom/vetados', { entries: [{ rfc }] })
    await expect.poll(() => suppliers('&blacklist=custom:vetados'), { timeout: 240_000 }).toEqual([rfc])
    const shown = () => rowsOf(page, 'Lista de proveedores').locator('td:first-child small').allTextContents()
    await page.goto(`${at('/cfdi/repse-suppliers')}?fiscal_entity_id=${entity}`)
    await expect.poll(shown, { timeout: 30_000 }).toEqual(all)
    await page.getByLabel('Listas').selectOption('sat_69b')
    await page.waitForURL('**blacklist=sat_69b')
    const listed = await suppliers('&blacklist=sat_69b')
    if (listed.length > 0) await expect.poll(shown).toEqual(listed)
    else await page.getByText('Ningún proveedor de este periodo está en esa lista').waitFor()
    await page.getByLabel('Listas').selectOption({ label: 'En cualquier lista del SAT' })
    await page.waitForURL(/blacklist=sat_69b%2Csat_69b_bis/)
    const some = await suppliers(`&blacklist=${new URL(page.url()).searchParams.get('blacklist')}`)
    if (some.length > 0) await expect.poll(shown).toEqual(some)
    await page.goto(`${at('/cfdi/repse-suppliers')}?fiscal_entity_id=${entity}&blacklist=custom:vetados`)
    await expect.poll(shown).toEqual([rfc])
    await page.goto(`${at('/cfdi/repse-suppliers')}?fiscal_entity_id=${entity}&blacklist=custom:nadie`)
    await page.getByRole('button', { name: 'Quitar el filtro Listas' }).click()
    await expect.poll(shown).toEqual(all)
    await world.customer.ask('POST', '/v1/blacklists/custom', { slug: 'vacia', label: 'Vacía' })
    await page.goto(`${at('/cfdi/repse-suppliers')}?fiscal_entity_id=${entity}&blacklist=custom:vacia`)
    await page.getByText('Ningún proveedor de este periodo está en esa lista').waitFor()
    await page.getByRole('button', { name: 'Todos los proveedores' }).click()
    await expect.poll(shown).toEqual(all)
    expect(complaints).toEqual([])
    await leave()
  }, 60_000)

  it('a CIEC that the authority refuses is renewed from the first page; another RFC is connected with its e.firma', async () => {
    const customer = await Customer.signUp(world.service.url, 'Despacho Reconecta')
    await customer.ask('POST', '/v1/test-helpers/organization', { plan: 'api' })
    const id = await customer.connect(randomRfc())
    await expect.poll(async () => (await customer.sync(id)).status, { timeout: 240_000, interval: 500 }).toBe('idle')
    await customer.ask('POST', `/v1/test-helpers/fiscal-entities/${id}/expire-ciec`)
    await customer.ask('POST', `/v1/fiscal-entities/${id}/extractions`, { data_source_keys: ['sat_cfdi_issued'], from: '2018-01-01' })
    const statusOf = async () => (await customer.ask<{ status: string }>('GET', `/v1/fiscal-entities/${id}`)).status
    await expect.poll(statusOf, { timeout: 240_000, interval: 500 }).toBe('invalid_ciec')

    const { page, complaints, leave } = await enter(customer)
    await page.getByText('Acceso rechazado').waitFor()
    await page.getByRole('link', { name: 'Actualizar acceso' }).click()
    await page.getByLabel('CIEC (contraseña)').last().fill('rejected1')
    await page.getByRole('button', { name: 'Verificar y guardar' }).click()
    await page.locator('[aria-invalid=true]').waitFor()
    expect(await page.locator('[aria-invalid=true]').inputValue()).toBe('rejected1')
    // Once, beside its field.
    expect(await page.getByText('El SAT rechazó la CIEC y no se guardó nada').count()).toBe(1)
    await page.locator('[aria-invalid=true]').fill('secreta2')
    await page.getByRole('button', { name: 'Verificar y guardar' }).click()
    await page.getByRole('heading', { name: 'Cobertura' }).waitFor({ timeout: 240_000 })
    expect(await statusOf()).toBe('active')

    const rfc = randomRfc()
    const { certificate, private_key, password } = makeEfirma(rfc)
    const file = (name: string, content: string) => ({ name, mimeType: 'application/octet-stream', buffer: Buffer.from(content, 'base64') })
    await page.goto(at('/connect'))
    await page.getByLabel('RFC', { exact: true }).fill(rfc)
    await page.getByLabel('e.firma (archivos .cer y .key)').check()
    await page.locator('input[name=certificate]').setInputFiles(file('firma.cer', certificate))
    await page.locator('input[name=private_key]').setInputFiles(file('firma.key', private_key))
    await page.getByLabel('Contraseña de la llave').fill('otra')
    await page.getByRole('button', { name: 'Conectar y descargar' }).click()
    await page.locator('input[name=password][aria-invalid=true]').waitFor()
    await page.getByLabel('Contraseña de la llave').fill(password)
    const sent = page.waitForRequest((request) => request.method() === 'POST')
    await page.getByRole('button', { name: 'Conectar y descargar' }).click()
    expect((await sent).postDataJSON()).toEqual({ rfc, efirma: { certificate, private_key, password } })
    await page.getByRole('heading', { level: 1, name: rfc }).waitFor({ timeout: 240_000 })
    // The key is in that request, and nowhere else.
    const kept = `${await page.content()}${await page.evaluate('JSON.stringify([localStorage, sessionStorage, document.cookie])')}`
    for (const secret of [private_key.slice(40, 100), password]) expect(kept).not.toContain(secret)
    expect(complaints).toEqual([])
    await leave()
  }, 180_000)

  it('an update of several RFCs asks of each one for the sources that are enabled for it alone', async () => {
    const { context, page } = await world.enter(browser)
    const id = world.ids['fiscal_entity_id']!
    const one = await world.customer.ask<object>('GET', `/v1/fiscal-entities/${id}`)
    await page.route(`**/v1/fiscal-entities/${id}`, (route) =>
      route.fulfill({ json: { ...one, data_source_keys: ['sat_csf', 'sat_cfdi_received'] } }),
    )
    const asked: unknown[] = []
    await page.route('**/extractions', (route) => {
      asked.push((route.request().postDataJSON() as { data_source_keys: string[] }).data_source_keys)
      return route.fulfill({ status: 202, json: {} })
    })
    await page.goto(`${world.service.url}/console/`)
    await page.getByRole('row').filter({ hasText: 'DEM050101AB9' }).getByRole('checkbox').check()
    await page.getByRole('button', { name: 'Actualizar ahora' }).click()
    await expect.poll(() => asked).toEqual([['sat_cfdi_received']])
    await context.close()
  }, 60_000)

  it('several RFCs from a table: checked before anything is sent, and each row has its result', async () => {
    const customer = await Customer.signUp(world.service.url, 'Despacho Tabla')
    const context = await browser.newContext({ locale: 'es-MX' })
    const page = await context.newPage()
    await followLink(page, await world.link(customer))
    await page.goto(`${world.service.url}/console/connect`)
    await page.getByRole('link', { name: 'Conectar varios con una tabla' }).click()
    const take = (text: string) =>
      page.getByLabel('Tabla (XLSX o CSV)').setInputFiles({ name: 'rfc.csv', mimeType: 'text/csv', buffer: Buffer.from(text) })
    await take('una carta')
    await page.getByText('En el archivo no hay una tabla').waitFor()
    await take('RFC,CIEC,Nombre\nEKU9003173C9,secreta1,Escuela\nMAL,x,\nURE180429TM6,secreta1,Robótica\nIIA040805DZ4,rechaza1,\n')
    await page.getByText('4 renglones, 1 con errores').waitFor()
    expect((await customer.ask<{ data: unknown[] }>('GET', '/v1/fiscal-entities')).data).toEqual([])
    expect(await page.locator('main').textContent()).not.toContain('secreta1')
    await page.getByRole('button', { name: 'Conectar 3' }).click()
    const row = (rfc: string) => page.getByRole('row').filter({ hasText: rfc }).locator('td').last()
    await expect.poll(() => row('EKU9003173C9').textContent(), { timeout: 30_000 }).toContain('Conectado')
    // The trial is of one RFC.
    await expect.poll(() => row('URE180429TM6').textContent()).toMatch(/^No se conectó .*prueba/)
    expect(await row('MAL').textContent()).toBe('No es un RFC')
    expect((await customer.ask<{ data: { rfc: string }[] }>('GET', '/v1/fiscal-entities')).data.map(({ rfc }) => rfc)).toEqual([
      'EKU9003173C9',
    ])
    expect(await findings(page)).toEqual([])
    await row('EKU9003173C9').getByRole('link', { name: 'Ver' }).click()
    await page.getByRole('heading', { level: 1, name: 'EKU9003173C9' }).waitFor()
    await context.close()
  }, 60_000)
})

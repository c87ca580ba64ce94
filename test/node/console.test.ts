import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chromiumPath, findings, LOOKS, listen, openBrowser, settle } from '../../scripts/browser.ts'
import { Customer, randomRfc } from '../../scripts/customer.ts'
import { ConsoleWorld, registeredPages } from './support/console-world.ts'
import { discard } from './support/runner.ts'

const isMissing = chromiumPath() === null
const name = isMissing
  ? 'the console in Chromium (skipped: there is none; apt-get install chromium, or name one in CHROMIUM_PATH)'
  : 'the console in Chromium'

const pages = await registeredPages()

describe.skipIf(isMissing)(name, () => {
  let world: ConsoleWorld
  let browser: Browser

  beforeAll(async () => {
    ;[world, browser] = await Promise.all([ConsoleWorld.start(), openBrowser()])
  }, 240_000)
  afterAll(async () => {
    await browser?.close()
    if (world) await discard(world.service.stateDir, [world.service])
  })

  describe.each(Object.entries(LOOKS))('%s', (_, options) => {
    it('every page: axe finds nothing, the policy is kept, nothing is asked of another origin, nothing scrolls sideways', async () => {
      const { context, page, complaints } = await world.enter(browser, options)
      const wrong: string[] = []
      for (const { path } of pages) {
        await page.goto(world.addressOf(path))
        await settle(page)
        const found = [...complaints.splice(0), ...(await findings(page))]
        if ((await page.getByText('Esto mismo por la API:').count()) === 0) found.push('names no call of the API')
        const isWide = await page.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth')
        wrong.push(...[...found, ...(isWide ? ['scrolls sideways'] : [])].map((one) => `${path}: ${one}`))
      }
      await context.close()
      expect(wrong).toEqual([])
    }, 240_000)

    it('the way in', async () => {
      const context = await browser.newContext(options)
      const page = await context.newPage()
      const wrong: string[] = []
      for (const path of ['/', '/sign-up', '/invitation']) {
        await page.goto(`${world.service.url}/console${path}`)
        await settle(page)
        wrong.push(...(await findings(page)).map((one) => `${path}: ${one}`))
      }
      await context.close()
      expect(wrong).toEqual([])
    })
  })

  /** How often a page has asked the API. */
  const callsOf = (page: Page): string[] => {
    const calls: string[] = []
    page.on('request', (request) => {
      const { pathname, search } = new URL(request.url())
      if (pathname.startsWith('/v1/')) calls.push(pathname + search)
    })
    return calls
  }

  it('from nothing to a finished download: sign up, keep the credential, connect, watch; a second RFC is beyond the trial', async () => {
    const context = await browser.newContext({ locale: 'es-MX' })
    const page = await context.newPage()
    await page.goto(`${world.service.url}/console/`)
    await page.getByRole('link', { name: 'Crear una cuenta' }).click()
    await page.getByLabel('Despacho o empresa').fill('Despacho Nuevo')
    await page.getByLabel('Su nombre').fill('Ana Ruiz')
    await page.getByLabel('Correo').fill(`ana.${Date.now()}@example.com`)
    await page.getByRole('button', { name: 'Crear la cuenta' }).click()
    await page.getByText('Guarde su credencial').waitFor()
    expect(await page.locator('code').nth(1).textContent()).toMatch(/^fds_test_secret_/)
    await page.getByRole('button', { name: /conectar mi primer RFC/ }).click()

    // A wrong RFC is told beside its field, and what was typed stays.
    await page.getByLabel('RFC', { exact: true }).fill('EKU900317XXX')
    await page.getByLabel('CIEC (contraseña)').last().fill('secreta1')
    await page.getByRole('button', { name: 'Conectar y descargar' }).click()
    await page.locator('[aria-invalid=true]').waitFor()
    expect(await page.locator('[aria-invalid=true]').inputValue()).toBe('EKU900317XXX')
    const rfc = randomRfc()
    await page.getByLabel('RFC', { exact: true }).fill(rfc)
    await page.getByRole('button', { name: 'Conectar y descargar' }).click()
    await page.getByRole('heading', { level: 1, name: rfc }).waitFor()
    await page.getByText('Al día').waitFor({ timeout: 90_000 })

    await page.goto(`${world.service.url}/console/connect`)
    await page.getByLabel('RFC', { exact: true }).fill(randomRfc())
    await page.getByLabel('CIEC (contraseña)').last().fill('secreta1')
    const answered = page.waitForResponse((response) => response.request().method() === 'POST')
    await page.getByRole('button', { name: 'Conectar y descargar' }).click()
    expect((await answered).status()).toBe(402)
    expect(await page.getByRole('alert').textContent()).toMatch(/prueba.*req_[0-9a-f]{32}$/s)
    await context.close()
  }, 180_000)

  it('sign in by keyboard alone; a wrong secret is told; a credential that is revoked ends the session at the next look', async () => {
    const owner = await Customer.signUp(world.service.url, 'Despacho Teclado')
    const { api_key, api_secret } = owner.credential
    const context = await browser.newContext({ locale: 'es-MX' })
    const page = await context.newPage()
    const complaints: string[] = []
    page.on('dialog', (dialog) => complaints.push(dialog.message()))
    await page.goto(`${world.service.url}/console/alerts`)
    await page.getByLabel('Clave (api_key)').waitFor()
    await page.keyboard.press('Tab')
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Saltar al contenido')
    await page.getByLabel('Clave (api_key)').focus()
    await page.keyboard.insertText(api_key)
    await page.keyboard.press('Tab')
    await page.keyboard.insertText(`${api_secret}x`)
    await page.keyboard.press('Enter')
    await page.getByRole('alert').waitFor()
    await page.getByLabel('Secreto (api_secret)').fill(api_secret)
    await page.keyboard.press('Enter')
    // What was asked for is shown.
    await page.getByRole('heading', { level: 1, name: 'Alertas' }).waitFor()
    const other = await owner.ask<{ api_key: string; api_secret: string }>('POST', '/v1/credentials', { name: 'Otra', role: 'owner' })
    const answer = await fetch(`${world.service.url}/v1/credentials/${api_key}`, {
      method: 'DELETE',
      headers: { authorization: `Basic ${btoa(`${other.api_key}:${other.api_secret}`)}` },
    })
    expect(answer.status).toBe(204)
    await page.getByRole('link', { name: 'RFC', exact: true }).click()
    await page.getByText('La sesión terminó').waitFor()
    expect(complaints).toEqual([])
    await context.close()
  }, 60_000)

  it('a sign-in link says whom it signs in and asks; opened over a session, it leaves the address and changes nothing unasked', async () => {
    const { url } = world.service
    const [mine, theirs] = await Promise.all(['Despacho Propio', 'Despacho Ajeno'].map((one) => Customer.signUp(url, one)))
    const context = await browser.newContext({ locale: 'es-MX', viewport: LOOKS.phone.viewport })
    const page = await context.newPage()
    const complaints = listen(page, url)
    const name = async () => {
      const answer = await fetch(`${url}/v1/organization`, { headers: await cookie() })
      return ((await answer.json()) as { name: string }).name
    }
    const cookie = async () => ({
      ...{ cookie: (await context.cookies()).map((one) => `${one.name}=${one.value}`).join('; ') },
      'sec-fetch-site': 'same-origin',
    })
    const mainOf = () => page.locator('main').innerText()
    const [first, second] = [await world.link(mine), await world.link(theirs)]

    await page.goto(first)
    await page.getByRole('button', { name: 'Entrar a Despacho Propio' }).waitFor()
    expect([page.url(), await context.cookies()]).toEqual([`${url}/console/`, []])
    expect(await mainOf()).toContain(mine!.credential.api_key)
    expect(await findings(page)).toEqual([])
    await page.getByRole('button', { name: 'Entrar a Despacho Propio' }).click()
    await page.getByRole('heading', { level: 1, name: 'RFC conectados' }).waitFor()
    expect(await name()).toBe('Despacho Propio')

    // The link of somebody else, in the same tab: only what follows # is new, so nothing is loaded.
    await page.goto(second)
    await page.getByRole('button', { name: 'Cambiar a Despacho Ajeno' }).waitFor()
    expect(page.url()).toBe(`${url}/console/`)
    expect(await mainOf()).toMatch(/Ya está en la consola como .*, de Despacho Propio/)
    expect(await findings(page)).toEqual([])
    await page.getByRole('button', { name: 'Seguir en Despacho Propio' }).click()
    await page.getByRole('heading', { level: 1, name: 'RFC conectados' }).waitFor()
    expect(await name()).toBe('Despacho Propio')
    await page.goto(second)
    await page.getByRole('button', { name: 'Cambiar a Despacho Ajeno' }).click()
    await page.getByRole('heading', { level: 1, name: 'RFC conectados' }).waitFor()
    expect(await name()).toBe('Despacho Ajeno')

    // A link that was used already ends no session.
    await page.goto(first)
    await page.getByRole('alert').waitFor()
    await page.getByRole('button', { name: 'Seguir en Despacho Ajeno' }).click()
    await page.getByRole('heading', { level: 1, name: 'RFC conectados' }).waitFor()
    expect(complaints).toEqual([])
    await context.close()
  }, 60_000)

  it('both languages and both themes stay chosen', async () => {
    const { context, page } = await world.enter(browser)
    await page.getByRole('button', { name: 'Cambiar a inglés' }).click()
    await page.getByRole('heading', { level: 1, name: 'Connected RFCs' }).waitFor()
    await page.getByRole('button', { name: 'Switch between light and dark' }).click()
    await page.reload()
    await page.getByRole('heading', { level: 1, name: 'Connected RFCs' }).waitFor()
    expect(await page.evaluate('[document.documentElement.lang, document.documentElement.dataset.theme]')).toEqual(['en-US', 'dark'])
    await context.close()
  }, 60_000)

  it('what is empty, slow, refused for a minute, or without a network is said', async () => {
    const { context, page } = await world.enter(browser)
    await page.route('**/v1/alerts*', (route) => route.fulfill({ json: { data: [], has_more: false, next_cursor: null } }))
    await page.goto(`${world.service.url}/console/alerts`)
    await page.getByText('Nada pendiente').waitFor()
    await page.unroute('**/v1/alerts*')
    const detail = { message: 'Send requests more slowly.', retry_after_seconds: 1 }
    const refused = { detail, code: 'request.rate_limit', request_id: 'req_0' }
    let asked = 0
    await page.route('**/v1/alerts*', (route) => {
      asked += 1
      return asked < 3 ? route.fulfill({ status: 429, headers: { 'retry-after': '1' }, json: refused }) : route.continue()
    })
    await page.reload()
    await page
      .getByText(/Marcar como leída|Nada pendiente/)
      .first()
      .waitFor({ timeout: 15_000 })
    expect(asked).toBe(3)
    await page.unroute('**/v1/alerts*')
    await page.route('**/v1/alerts*', async (route) => {
      await new Promise((done) => setTimeout(done, 5_000))
      await route.continue()
    })
    await page.reload()
    await page.getByText('Tarda más de lo normal').waitFor()
    await page
      .getByText(/Marcar como leída|Nada pendiente/)
      .first()
      .waitFor({ timeout: 15_000 })
    await context.setOffline(true)
    await page.getByText('Sin conexión').waitFor()
    await context.close()
  }, 90_000)

  it('the overview of 200 RFCs costs at most four calls, and little while nothing moves', async () => {
    const { context, page } = await world.enter(browser)
    const { data } = await world.customer.ask<{ data: { fiscal_entity_id: string }[] }>('GET', '/v1/fiscal-entities')
    const all = Array.from({ length: 200 }, (_, n) => ({
      ...data[0],
      fiscal_entity_id: `fe_${n}`,
      rfc: `TST${String(n).padStart(6, '0')}AB1`,
    }))
    const jobs = { queued: 0, running: 0, waiting: 0, succeeded: 79, failed: 0, total: 79 }
    const sync = (n: number) => ({
      ...{
        fiscal_entity_id: `fe_${n}`,
        state: n === 150 ? 'blocked' : 'idle',
        jobs,
        percent: 100,
        last_success_at: null,
        next_run_at: null,
      },
      ...{ summary: 'Done.', message_es: n === 150 ? 'El SAT rechaza la CIEC.' : 'Está descargado todo.' },
    })
    const paged = (rows: unknown[]) => (url: string) => {
      const from = Number(new URL(url).searchParams.get('cursor') ?? 0)
      const isLast = from + 100 >= rows.length
      return { data: rows.slice(from, from + 100), has_more: !isLast, next_cursor: isLast ? null : String(from + 100) }
    }
    const [entities, syncs] = [paged(all), paged(all.map((_, n) => sync(n)))]
    await page.route('**/v1/fiscal-entities?*', (route) => route.fulfill({ json: entities(route.request().url()) }))
    await page.route('**/v1/sync?*', (route) => route.fulfill({ json: syncs(route.request().url()) }))
    // What the page before asked is not counted.
    await page.goto('about:blank')
    const calls = callsOf(page)
    await page.goto(`${world.service.url}/console/`)
    await page.locator('[data-rfc]').nth(199).waitFor()
    expect(calls.length).toBeLessThanOrEqual(4)
    // What needs a person comes first, and / goes to the search.
    expect(await page.locator('[data-rfc]').first().textContent()).toContain('El SAT rechaza la CIEC.')
    await page.keyboard.press('/')
    await page.keyboard.insertText('tst000042')
    await page.locator('[data-rfc]').nth(1).waitFor({ state: 'detached' })
    expect(await page.locator('[data-rfc]').count()).toBe(1)
    await page.waitForTimeout(15_000)
    expect(calls.length).toBeLessThanOrEqual(4 + 5)
    await context.close()
  }, 60_000)
})

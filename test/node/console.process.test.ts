import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chromiumPath, findings, followLink, LOOKS, listen, openBrowser, settle } from '../../scripts/browser.ts'
import { Customer, randomRfc } from '../../scripts/customer.ts'
import { Answers } from './support/console-figures.ts'
import { faultsOf, KINDS, POLLED, passMinute } from './support/console-look.ts'
import { ConsoleWorld, registeredPages } from './support/console-world.ts'
import { discard } from './support/runner.ts'

const isMissing = chromiumPath() === null
const name = isMissing
  ? 'the console in Chromium (skipped: there is none; apt-get install chromium, or name one in CHROMIUM_PATH)'
  : 'the console in Chromium'

const pages = await registeredPages()

const isLong = process.env['FUZZ'] === 'full'

describe.skipIf(isMissing)(name, () => {
  let world: ConsoleWorld
  let browser: Browser

  beforeAll(async () => {
    ;[world, browser] = await Promise.all([ConsoleWorld.start(), openBrowser()])
  })
  afterAll(async () => {
    await browser?.close()
    if (world) await discard(world.service.stateDir, [world.service])
  })

  /** Whether a tab is known by the thing that it shows, else by its page, and by the RFC that was chosen. */
  const isWellNamed = async (page: Page, path: string, name: string): Promise<boolean> => {
    const [first, ...more] = (await page.title()).split(' · ')
    const heading = (await page.locator('h1').first().textContent())!
    const isThing = path.includes(':') || path.endsWith('/entries') || path === '/connect'
    const isOfOne = (await page.locator('main header').getByRole('combobox', { name: 'RFC', exact: true }).count()) > 0
    return (isThing ? heading.startsWith(first!) : first === name) && (!isOfOne || more.includes('DEM050101AB9'))
  }

  describe.runIf(isLong).each(Object.entries(LOOKS))('%s', (look, options) => {
    const isEnglish = look === 'dark'
    const what = isEnglish ? 'in English' : 'in Spanish; its figures are texts of the API'
    it(`every page ${what}: axe finds nothing, the policy is kept, keys reach all, nothing foreign is asked, nothing scrolls sideways`, async () => {
      const { context, page, complaints } = await world.enter(browser, { ...options, ...(isEnglish && { locale: 'en-US' }) })
      const answers = new Answers(page)
      const wrong: string[] = []
      for (const { path, name } of pages) {
        await page.goto(world.addressOf(path))
        await settle(page)
        const found = [...(await findings(page)), ...(await faultsOf(page, complaints))]
        if (!isEnglish && (await page.getByText('Esto mismo por la API:').count()) === 0) found.push('names no call of the API')
        if (!isEnglish) found.push(...(await answers.strangersOn(page)).map((figure) => `no answer says ${figure}`))
        if (!(await isWellNamed(page, path, isEnglish ? name.en : name.es))) found.push(`is called ${await page.title()}`)
        wrong.push(...found.map((one) => `${path}: ${one}`))
      }
      await context.close()
      expect(wrong).toEqual([])
      if (!isEnglish) expect(answers.seen).toBeGreaterThan(500)
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
    // One whose check digit is odd is asked about before it is sent.
    await page.getByLabel('RFC', { exact: true }).fill('EKU9003173C8')
    await page.getByRole('button', { name: 'Conectar y descargar' }).click()
    await page.getByRole('dialog', { name: '¿Está bien escrito EKU9003173C8?' }).waitFor()
    expect(await findings(page)).toEqual([])
    await page.getByRole('button', { name: 'Corregirlo' }).click()
    const rfc = randomRfc()
    await page.getByLabel('RFC', { exact: true }).fill(rfc)
    await page.getByRole('button', { name: 'Conectar y descargar' }).click()
    await page.getByRole('heading', { level: 1, name: rfc }).waitFor()
    await page.getByText('Al día').waitFor({ timeout: 240_000 })

    await page.goto(`${world.service.url}/console/connect`)
    await page.getByLabel('RFC', { exact: true }).fill(randomRfc())
    await page.getByLabel('CIEC (contraseña)').last().fill('secreta1')
    const answered = page.waitForResponse((response) => response.request().method() === 'POST')
    await page.getByRole('button', { name: 'Conectar y descargar' }).click()
    expect((await answered).status()).toBe(402)
    expect(await page.getByRole('alert').textContent()).toMatch(/prueba.*req_[0-9a-f]{32}$/s)
    // Nothing but a plan helps: the page names the way to one, and none that does not work.
    expect(await page.getByRole('alert').getByRole('link').getAttribute('href')).toBe('/console/billing')
    expect(await page.getByText('La prueba no cubre otro RFC').count()).toBe(1)
    expect(await page.getByRole('link', { name: 'Pause un RFC' }).count()).toBe(0)
    // Where what is missing can be bought, there is a way to it.
    const checkout_url = `${world.service.url}/pay`
    const seats = { code: 'billing.seats', detail: 'No seat is free.', request_id: 'req_1', checkout_url }
    await page.route('**/v1/fiscal-entities', (route) => route.fulfill({ status: 402, json: seats }))
    await page.getByRole('button', { name: 'Conectar y descargar' }).click()
    expect(await page.getByRole('link', { name: 'Comprar lo que falta' }).getAttribute('href')).toBe(checkout_url)
    await context.close()
  }, 180_000)

  it('sign in by keyboard alone; a wrong secret is told; a credential that is revoked ends the session at the next look', async () => {
    const owner = await Customer.signUp(world.service.url, 'Despacho Teclado')
    const { api_key, api_secret } = owner.credential
    const context = await browser.newContext({ locale: 'es-MX' })
    const page = await context.newPage()
    const complaints: string[] = []
    page.on('dialog', (dialog) => complaints.push(dialog.message()))
    const files: string[] = []
    page.on('response', (response) => /session$/.test(response.url()) || files.push(new URL(response.url()).pathname))
    await page.goto(`${world.service.url}/console/alerts`)
    await page.getByLabel('Clave (api_key)').waitFor()
    await settle(page)
    // The page, its script, its style, its font and its icon.
    expect([files.length <= 5, files]).toEqual([true, files])
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

  it('by mail: a link, the organization that is chosen, another one that is gone to, and a session that is ended elsewhere', async () => {
    const { url } = world.service
    const nobody = await Customer.signUp(url, 'Despacho Tercero')
    const email = `ada.mail.${Date.now()}@example.com`
    for (const organization_name of ['Despacho Norte', 'Despacho Sur'])
      await nobody.ask('POST', '/v1/auth/signup', { organization_name, name: 'Ada', email })
    const enter = async () => {
      const context = await browser.newContext({ locale: 'es-MX' })
      const page = await context.newPage()
      const complaints = listen(page, url)
      await page.goto(`${url}/console/`)
      await page.getByLabel('Correo').fill(email)
      await page.keyboard.press('Enter')
      // This service sends no mail, and says the link.
      await page.getByRole('link', { name: 'Abrir el enlace' }).click()
      await page.getByText(`Este enlace es de ${email}`).waitFor()
      expect([await findings(page), new URL(page.url()).hash]).toEqual([[], ''])
      await page.getByRole('button', { name: 'Entrar a Despacho Norte' }).click()
      await page.getByRole('heading', { level: 1, name: 'RFC conectados' }).waitFor()
      return { context, page, complaints }
    }
    const [here, there] = [await enter(), await enter()]
    const organization = here.page.getByRole('combobox', { name: 'Organización' })
    await Promise.all([
      here.page.waitForResponse((response) => response.url().endsWith('/console/session/organization')),
      organization.selectOption({ label: 'Despacho Sur' }),
    ])
    await expect.poll(() => organization.locator('option:checked').textContent()).toBe('Despacho Sur')
    await here.page.goto(`${url}/console/credentials`)
    const sessions = here.page.getByRole('region', { name: 'Sus sesiones por correo' })
    await sessions.waitFor()
    await expect.poll(() => sessions.locator('tbody tr').count()).toBe(2)
    expect(await findings(here.page)).toEqual([])
    await sessions.getByRole('button', { name: 'Cerrar' }).click()
    await expect.poll(() => sessions.locator('tbody tr').count()).toBe(1)
    await there.page.getByRole('link', { name: 'Alertas' }).click()
    await there.page.getByText('La sesión terminó').waitFor()
    expect([...here.complaints, ...there.complaints]).toEqual([])
    await Promise.all([here.context.close(), there.context.close()])
  }, 60_000)

  it.runIf(isLong)(
    'a session that expires leads to the way in, and back to the page that was asked for',
    async () => {
      const owner = await Customer.signUp(world.service.url, 'Despacho Breve')
      const expires_at = new Date(Date.now() + 6_000).toISOString()
      type Credential = Record<'api_key' | 'api_secret', string>
      const brief = await owner.ask<Credential>('POST', '/v1/credentials', { name: 'Breve', role: 'member', expires_at })
      const context = await browser.newContext({ locale: 'es-MX' })
      const page = await context.newPage()
      const enter = async ({ api_key, api_secret }: Credential) => {
        await page.getByLabel('Clave (api_key)').fill(api_key)
        await page.getByLabel('Secreto (api_secret)').fill(api_secret)
        await page.getByRole('button', { name: 'Entrar' }).click()
      }
      await page.goto(`${world.service.url}/console/team`)
      await enter(brief)
      await page.getByRole('heading', { level: 1, name: 'Equipo' }).waitFor()
      await page.waitForTimeout(Math.max(0, Date.parse(expires_at) - Date.now()) + 250)
      await page.getByRole('link', { name: 'Credenciales' }).click()
      await page.getByText('La sesión terminó').waitFor()
      await enter(owner.credential)
      await page.getByRole('heading', { level: 1, name: 'Credenciales' }).waitFor()
      await context.close()
    },
    60_000,
  )

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

  it.runIf(isLong)(
    'every kind of page says that it waits, that it was refused for a while, and that there is no network; and then goes on',
    async () => {
      const { context, page, complaints } = await world.enter(browser)
      await page.clock.install()
      /** A page may ask one thing after the other, and each of them several times. */
      const retriesUntil = async (cursor: Locator) => {
        for (const end = Date.now() + 15_000; Date.now() < end && !(await cursor.first().isVisible()); ) {
          await page.clock.runFor(2_000)
          await page.waitForTimeout(40)
        }
        return cursor.first().isVisible()
      }
      let state: 'slow' | 'refused' | 'offline' | 'fine' = 'fine'
      const stored: (() => void)[] = []
      const detail = { message: 'Send requests more slowly.', retry_after_seconds: 1 }
      const refused = { detail, code: 'request.rate_limit', request_id: `req_${'7'.repeat(32)}` }
      await page.route('**/v1/**', async (route) => {
        if (state === 'slow') await new Promise<void>((done) => stored.push(done))
        if (state === 'refused') await route.fulfill({ status: 429, headers: { 'retry-after': '1' }, json: refused })
        else if (state === 'offline') await route.abort('internetdisconnected')
        else await route.continue()
      })
      const again = () =>
        page.evaluate(`for (const one of document.querySelectorAll('main button')) if (one.textContent === 'Reintentar') one.click()`)
      const wrong: string[] = []
      for (const path of KINDS) {
        state = 'slow'
        await page.goto(world.addressOf(path))
        const lacks = async (what: string, cursor: Locator) => {
          if (!(await retriesUntil(cursor))) wrong.push(`${path} does not show ${what}`)
        }
        await lacks('a skeleton', page.locator('main [role=status][aria-label=Cargando]'))
        await lacks('that it is slow', page.getByText('Tarda más de lo normal'))
        state = 'refused'
        for (const go of stored.splice(0)) go()
        await lacks('which request was refused', page.getByText(`Solicitud ${refused.request_id}`))
        state = 'offline'
        await again()
        await lacks('that there is no network', page.getByText('No hay conexión con el servicio.'))
        state = 'fine'
        const alerts = page.locator('main').getByRole('alert')
        // What stood behind a refusal may have been refused itself.
        for (let n = 0; n < 3 && (n === 0 || (await alerts.count()) > 0); n++) {
          await again()
          await settle(page)
        }
        wrong.push(...[...(await alerts.allInnerTexts()), ...complaints.splice(0)].map((one) => `${path}: in the end ${one}`))
      }
      expect(wrong).toEqual([])
      await context.setOffline(true)
      await page.getByText('Sin conexión. Lo que ve puede no ser lo último').waitFor()
      await context.close()
    },
    240_000,
  )

  it.runIf(isLong)(
    'who has nothing yet is told on every page what to do',
    async () => {
      const nobody = await Customer.signUp(world.service.url, 'Despacho Vacío')
      const context = await browser.newContext(LOOKS.phone)
      const page = await context.newPage()
      const complaints = listen(page, world.service.url)
      await followLink(page, await world.link(nobody))
      const wrong: string[] = []
      for (const { path } of pages.filter((one) => !one.path.includes(':'))) {
        await page.goto(`${world.service.url}/console${path}`)
        await settle(page)
        const alerts = await page.locator('main').getByRole('alert').allInnerTexts()
        const isIdle = (await page.locator('main').getByRole('link').or(page.locator('main').getByRole('button')).count()) === 0
        const found = [...(await faultsOf(page, complaints)), ...alerts, ...(isIdle ? ['there is nothing to do'] : [])]
        wrong.push(...found.map((one) => `${path}: ${one}`))
      }
      expect(wrong).toEqual([])
      await context.close()
    },
    120_000,
  )

  it.runIf(isLong)(
    'a minute in which nothing moves costs at most 20 calls on every page that asks again',
    async () => {
      const { context, page } = await world.enter(browser)
      await page.clock.install()
      const calls = callsOf(page)
      const minutes: Record<string, number> = {}
      for (const path of POLLED) {
        await page.goto(world.addressOf(path))
        await settle(page)
        calls.length = 0
        await passMinute(page)
        minutes[path] = calls.length
      }
      // Each of them does ask, or the clock of the test is not that of the page.
      expect(Object.entries(minutes).filter(([, n]) => n === 0 || n > 20)).toEqual([])
      await context.close()
    },
    120_000,
  )

  it.runIf(isLong)(
    'the menu says how many alerts wait, to whoever hears it too, and nothing when none does; one that is read leaves the number',
    async () => {
      const { context, page } = await world.enter(browser, LOOKS.phone)
      const alert = { alert_id: 'alr_1', kind: 'connection.failing', severity: 'critical', resource_id: 'fe_1', message: 'Failing.' }
      const at = '2026-05-20T09:00:00.000Z'
      const fiscal_entity_id = world.ids['fiscal_entity_id']
      const about = { fiscal_entity_id, rfc: 'DEM050101AB9', amount: '1160.00', currency: 'MXN' }
      const raised = { ...alert, ...about, message_es: 'Falla.', created_at: at, resolved_at: null as string | null, read_at: null }
      let all = [raised, { ...raised, alert_id: 'alr_2' }, { ...raised, alert_id: 'alr_3', resolved_at: at }]
      let has_more = false
      await page.route('**/v1/alerts?*', (route) => {
        const isOpen = new URL(route.request().url()).searchParams.get('state') === 'open'
        const data = isOpen ? all.filter(({ resolved_at }) => resolved_at === null) : all
        return route.fulfill({ json: { data, has_more, next_cursor: has_more ? 'more' : null } })
      })
      await page.route('**/v1/alerts/alr_1/read', (route) => {
        all = all.slice(1)
        return route.fulfill({ json: { ...raised, read_at: at } })
      })
      const link = (name: string) => page.getByRole('link', { name, exact: true })
      await page.goto(world.addressOf('/alerts'))
      await settle(page)
      await page.getByRole('button', { name: 'Menú' }).click()
      await link('Alertas 2 pendientes').waitFor()
      expect(await findings(page)).toEqual([])
      await page.keyboard.press('Escape')
      await page.getByText('$1,160.00').first().waitFor()
      await page.getByRole('button', { name: 'Marcar como leída', exact: true }).first().click()
      await page.getByRole('button', { name: 'Menú' }).click()
      await link('Alertas 1 pendiente').waitFor()
      has_more = true
      await page.reload()
      await page.getByRole('button', { name: 'Menú' }).click()
      await link('Alertas 1+ pendientes').waitFor()
      await page.keyboard.press('Escape')
      // All that pass the filters are marked together.
      has_more = false
      let marked = ''
      await page.route('**/v1/alerts/read?*', (route) => {
        marked = new URL(route.request().url()).search
        all = []
        return route.fulfill({ json: { read_count: 2 } })
      })
      await page.getByRole('button', { name: 'Marcar como leídas las de estos filtros' }).click()
      await page.getByText('Ninguna alerta coincide').waitFor()
      expect(marked).toBe(`?fiscal_entity_id=${fiscal_entity_id}`)
      await page.reload()
      await page.getByRole('button', { name: 'Menú' }).click()
      await link('Alertas').waitFor()
      await context.close()
    },
    60_000,
  )

  it.runIf(isLong)(
    'today says of all RFCs what is due, who is newly listed, what was cancelled and what needs a person, each with a link',
    async () => {
      const { context, page } = await world.enter(browser, LOOKS.phone)
      const fiscal_entity_id = world.ids['fiscal_entity_id']!
      const client = { fiscal_entity_id, rfc: 'DEM050101AB9', name: null }
      const at = '2026-11-20T15:00:00.000Z'
      const paged = (data: unknown[]) => ({ json: { data, has_more: false, next_cursor: null } })
      const due = {
        ...{ ...client, description: 'Pago provisional mensual de ISR', periodicity: 'monthly', due_rule: null, period: '2026-10' },
        ...{ due_date: '2026-11-17', extended_due_date: null, status: 'pending', declaration_id: null, days_left: 1 },
      }
      const listed = {
        ...{ ...client, event: 'blacklist.changed', event_id: 'evt_1', ordering: 1, occurred_at: at, change: 'listed' },
        ...{ counterparty_rfc: 'EKU9003173C9', counterparty_name: 'ESCUELA KEMPER', source: 'sat_69b', list_label: '69-B' },
        ...{ situacion_before: null, situacion: 'definitivo', severity: 'critical', purchases_mxn: '5800.00', sales_mxn: '0.00' },
      }
      const cancelled = {
        ...{ ...client, alert_id: 'alr_1', kind: 'cfdi.cancelled_after_payment', severity: 'critical', resource_id: world.ids['uuid'] },
        ...{ amount: '1160.00', currency: 'MXN', message: 'Cancelled.', message_es: 'Se canceló.', created_at: at },
        ...{ resolved_at: null, read_at: null },
      }
      await page.route('**/v1/portfolio/obligations?*', (route) => route.fulfill(paged([due])))
      await page.route('**/v1/portfolio/listed?*', (route) => route.fulfill(paged([listed])))
      await page.route(/alerts\?.*kind=cfdi/, (route) => route.fulfill(paged([cancelled])))
      await page.goto(world.addressOf('/today'))
      await settle(page)
      await page.getByText('Pago provisional mensual de ISR').waitFor()
      const hrefOf = (name: string) => page.getByRole('link', { name }).getAttribute('href')
      const documents = `/console/cfdi?fiscal_entity_id=${fiscal_entity_id}&counterparty_rfc=EKU9003173C9`
      expect(await hrefOf('EKU9003173C9: $5,800.00')).toBe(`${documents}&direction=received`)
      expect(await hrefOf('Se canceló.')).toBe(`/console/cfdi/${world.ids['uuid']}?fiscal_entity_id=${fiscal_entity_id}`)
      expect(await findings(page)).toEqual([])
      await context.close()
    },
    60_000,
  )

  it.runIf(isLong)(
    'the overview of 200 RFCs costs three calls, and of 1,000 at most 20 a minute; what needs a person comes first, and / seeks',
    async () => {
      const { context, page } = await world.enter(browser)
      let count = 200
      const jobs = { queued: 0, running: 0, waiting: 0, succeeded: 79, failed: 0, total: 79 }
      const sync = (n: number) => ({
        ...{
          fiscal_entity_id: `fe_${n}`,
          rfc: `TST${String(n).padStart(6, '0')}AB1`,
          name: n === 43 ? 'Cliente Norte' : null,
          taxpayer_name: n < 2 ? null : `EMPRESA ${n}`,
          connection_status: 'active',
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
        const isLast = from + 100 >= count
        return { data: rows.slice(from, from + 100), has_more: !isLast, next_cursor: isLast ? null : String(from + 100) }
      }
      const syncs = paged(Array.from({ length: 1_000 }, (_, n) => sync(n)))
      await page.route('**/v1/sync?*', (route) => route.fulfill({ json: syncs(route.request().url()) }))
      // What the page before asked is not counted.
      await page.goto('about:blank')
      const calls = callsOf(page)
      await page.goto(`${world.service.url}/console/`)
      await page.locator('[data-rfc]').nth(199).waitFor()
      expect(calls.sort()).toEqual(['/v1/alerts?is_read=false&state=open&limit=20', '/v1/sync?limit=100', '/v1/sync?limit=100&cursor=100'])
      // An RFC has the name that the organization gave it, else that of its documents.
      const nameOf = (n: number) => page.locator(`tr:has([data-rfc=TST${String(n).padStart(6, '0')}AB1]) td:nth-child(2) span`)
      expect(await Promise.all([nameOf(42), nameOf(43)].map((one) => one.textContent()))).toEqual(['EMPRESA 42', 'Cliente Norte'])
      expect(await nameOf(1).textContent()).toBe('')
      // What needs a person comes first, and / goes to the search.
      expect(await page.locator('tr:has([data-rfc])').first().textContent()).toContain('El SAT rechaza la CIEC.')
      await page.keyboard.press('/')
      await page.keyboard.insertText('norte cliente')
      await page.locator('[data-rfc]').nth(1).waitFor({ state: 'detached' })
      expect(await page.locator('[data-rfc]').count()).toBe(1)

      // Of many RFCs one reading takes many calls, and is repeated less often.
      count = 1_000
      await page.clock.install()
      await page.reload()
      await page.locator('[data-rfc]').nth(999).waitFor()
      calls.length = 0
      await passMinute(page)
      expect([calls.length > 0, calls.length <= 20]).toEqual([true, true])
      await context.close()
    },
    60_000,
  )
})

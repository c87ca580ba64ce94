import { createServer, type Server } from 'node:http'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chromiumPath, findings, followLink, openBrowser } from '../../scripts/browser.ts'
import { ConsoleWorld } from './support/console-world.ts'
import { discard } from './support/runner.ts'

const isMissing = chromiumPath() === null

/** A receiver of deliveries, which answers with a status of the test's choice. */
class Listener {
  status = 200
  /** The tests that came; other deliveries are answered too. */
  readonly tests: { id: string; event: string }[] = []
  readonly #server: Server = createServer((request, answer) => {
    const { headers } = request
    request.resume().on('end', () => {
      const test = { id: String(headers['service-delivery-id']), event: String(headers['service-event']) }
      if (headers['service-test'] === 'true') this.tests.push(test)
      answer.writeHead(this.status).end('Heard.')
    })
  })

  async listen(): Promise<string> {
    await new Promise<void>((done) => this.#server.listen(0, '127.0.0.1', done))
    const address = this.#server.address()
    return `http://127.0.0.1:${typeof address === 'object' ? address!.port : 0}`
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}

describe.skipIf(isMissing)('automation in the console', () => {
  const listener = new Listener()
  let world: ConsoleWorld
  let browser: Browser

  beforeAll(async () => {
    const sink = await listener.listen()
    ;[world, browser] = await Promise.all([ConsoleWorld.start({ WEBHOOK_SINK: sink, STORAGE_SINK: sink }), openBrowser()])
  })
  afterAll(async () => {
    await browser?.close()
    if (world) await discard(world.service.stateDir, [world.service])
    listener.close()
  })

  const at = (path: string): string => `${world.service.url}/console${path}`

  /** The figures of a panel, by their names. */
  const figuresOf = (page: Page): Promise<Record<string, string>> =>
    page
      .locator('main dl')
      .first()
      .locator('div')
      .allInnerTexts()
      .then((all) => Object.fromEntries(all.map((text) => text.split(/\s*\n+\s*/) as [string, string])))

  interface Preview {
    next_runs: string[]
    rfc_count: number
    totals: { months: number; readable_months: number; new_months: number; documents: number }
  }

  it('an extractor says what saving it would fetch before it is saved, and what the plan refuses', async () => {
    const { context, page, complaints } = await world.enter(browser)
    await page.goto(at('/extractors/new'))
    await page.getByText('Si guarda esto').waitFor()
    // The trial has places for two extractors, which is said before anything is typed.
    await page.getByText('Usa 2 de 2 extractores de su plan: no cabe otro.').waitFor()
    expect(await page.getByRole('link', { name: 'Borre un extractor' }).getAttribute('href')).toBe('/console/extractors')
    const notified = page.waitForResponse(
      (response) => response.url().endsWith('/preview') && response.request().postDataJSON().scope === 'full_history',
    )
    await page.getByLabel('Hasta dónde hacia atrás').selectOption('full_history')
    const { totals, rfc_count, next_runs } = (await (await notified).json()) as Preview
    expect(totals.new_months).toBeGreaterThan(50)
    await page.getByText(String(totals.months), { exact: true }).first().waitFor()
    expect(await figuresOf(page)).toEqual({
      RFC: String(rfc_count),
      'Meses por cubrir': String(totals.months),
      'Ya puede leerlos': String(totals.readable_months),
      'Todavía no puede leerlos': String(totals.new_months),
      'Otros documentos': String(totals.documents),
    })
    await page.getByText(`fuentes son ${totals.months} por cubrir.`).waitFor()
    expect(await page.getByRole('img', { name: /^Correrá el/ }).count()).toBe(next_runs.length)
    expect(await findings(page)).toEqual([])

    // What is wrong is told beside its field while it is typed, and the figures stay.
    await page.getByLabel('Hasta dónde hacia atrás').selectOption('last_n_months')
    await page.getByLabel('Cuántos meses').fill('999')
    await page.locator('[aria-invalid=true]').waitFor()
    expect(await page.locator('[aria-invalid=true]').inputValue()).toBe('999')
    expect((await figuresOf(page))['Meses por cubrir']).toBe(String(totals.months))
    await page.getByLabel('Cuántos meses').fill('6')
    await page.getByLabel('Nombre').fill('Semestral')
    await page.getByRole('button', { name: 'Crear extractor' }).click()
    // Nothing was saved meanwhile.
    await page
      .getByRole('alert')
      .getByText(/req_[0-9a-f]{32}/)
      .waitFor()
    expect(await world.customer.ask<unknown[]>('GET', '/v1/extractors')).toHaveLength(2)

    await page.goto(at('/extractors'))
    await page.getByRole('link', { name: 'Alta de RFC' }).click()
    await page.getByRole('button', { name: 'Borrar', exact: true }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Borrar', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'Extractores' }).waitFor()
    await page.getByRole('button', { name: 'Nuevo extractor' }).click()
    await page.getByLabel('Nombre').fill('Semestral')
    await page.getByLabel('Cuándo corre').selectOption('nth_weekday_monthly')
    await page.getByRole('button', { name: 'Crear extractor' }).click()
    await page.getByRole('heading', { level: 1, name: 'Semestral' }).waitFor()
    await page.getByText('El primer lunes de cada mes').waitFor()
    await page.getByRole('button', { name: 'Pausar', exact: true }).click()
    await page.getByRole('button', { name: 'Activar', exact: true }).click()
    await page.getByRole('button', { name: 'Correr ahora' }).click()
    await page.getByRole('link', { name: 'Seguir la descarga' }).click()
    await page.getByRole('heading', { level: 1, name: /^Descarga del/ }).waitFor()
    await page.getByText('Completa').waitFor({ timeout: 240_000 })
    // Each of its downloads stands there, and those that failed are none.
    const { data: jobs } = await world.customer.ask<{ data: unknown[] }>('GET', `/v1/runs/${page.url().split('/').at(-1)}/jobs?limit=25`)
    await page
      .getByRole('region', { name: 'Una por una' })
      .getByText('Lista')
      .nth(jobs.length - 1)
      .waitFor({ timeout: 240_000 })
    await page.getByLabel('Estado').selectOption('failed')
    await page.getByText('Ninguna descarga está así').waitFor()
    expect(complaints).toEqual([])
    await context.close()
  }, 180_000)

  it('a webhook shows its secret once, sends the sample of an event, and sends again what failed', async () => {
    const { context, page, complaints } = await world.enter(browser)
    await page.goto(at('/webhooks/new'))
    await page.getByLabel('Nombre', { exact: true }).fill('ERP')
    await page.getByLabel('URL').fill('http://hooks.example.com/erp')
    await page.getByRole('button', { name: 'Crear webhook' }).click()
    await page.locator('[aria-invalid=true]').waitFor()
    expect(await page.locator('[aria-invalid=true]').inputValue()).toBe('http://hooks.example.com/erp')
    await page.getByLabel('URL').fill('https://hooks.example.com/erp')
    await page.getByLabel('Entregas por minuto, como máximo').fill('60')
    await page.getByRole('button', { name: 'Crear webhook' }).click()
    await page.getByRole('heading', { level: 1, name: 'Guarde el secreto de firma' }).waitFor()
    const secret = (await page.locator('main code').first().textContent())!
    expect(secret).toMatch(/^whsec_/)
    for (const [language, sign] of [
      ['Node', 'createHmac'],
      ['Python', 'hmac.compare_digest'],
      ['PHP', 'hash_equals'],
    ] as const) {
      await page.getByRole('button', { name: language }).click()
      await page.locator('pre', { hasText: sign }).waitFor()
    }
    await page.getByRole('link', { name: 'Ir al webhook' }).click()
    await page.getByRole('heading', { level: 1, name: 'ERP' }).waitFor()
    await page.getByText('No hay entregas').waitFor()
    expect(await page.getByRole('definition').filter({ hasText: /^60$/ }).count()).toBe(1)
    expect(await page.content()).not.toContain(secret)

    listener.status = 410
    await page.getByRole('button', { name: 'Enviar prueba', exact: true }).click()
    await page.getByRole('dialog').getByLabel('Evento').selectOption('cfdi.cancelled')
    await page.getByRole('dialog').locator('pre', { hasText: 'cfdi_uuid' }).waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Enviar', exact: true }).click()
    const failed = page.locator('summary', { hasText: 'Falló' })
    await failed.waitFor({ timeout: 240_000 })
    await page.getByRole('img', { name: 'Intentos: 410' }).waitFor()
    expect(listener.tests).toMatchObject([{ event: 'cfdi.cancelled' }])
    // The list does not show it green.
    const own = page.url()
    await page.goto(at('/webhooks'))
    await page.getByText('Activo, y la última entrega no llegó').waitFor()
    expect(await findings(page)).toEqual([])
    await page.goto(own)

    await failed.click()
    await page.getByText('Heard.').waitFor()
    await page.locator('pre', { hasText: '"sample_of": "cfdi.cancelled"' }).waitFor()
    expect(await findings(page)).toEqual([])
    listener.status = 200
    await page.getByRole('button', { name: 'Reenviar', exact: true }).click()
    await page.locator('summary', { hasText: 'Entregado' }).getByText('Reenvío 1').waitFor({ timeout: 240_000 })
    // The receiver recognizes it by its id.
    expect(new Set(listener.tests.map(({ id }) => id)).size).toBe(1)
    expect(listener.tests).toHaveLength(2)

    listener.status = 410
    await page.getByRole('button', { name: 'Enviar prueba', exact: true }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Enviar', exact: true }).click()
    await page.locator('summary', { hasText: 'webhook.test' }).getByText('Falló').waitFor({ timeout: 240_000 })
    listener.status = 503
    await page.getByRole('button', { name: 'Enviar prueba', exact: true }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Enviar', exact: true }).click()
    await page.getByRole('img', { name: 'Intentos: 503' }).waitFor({ timeout: 240_000 })
    // The receiver is back: one step sends again what failed and what waits.
    listener.status = 200
    await page.getByRole('button', { name: 'Reenviar lo que no llegó…' }).click()
    expect(await findings(page)).toEqual([])
    await page.getByRole('dialog').getByRole('button', { name: 'Reenviar' }).click()
    await page.getByText('Entregas nuevas: 1. Pendientes que se envían ahora: 1.').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Reenviar' }).click()
    await page.getByText('Desde entonces no hay nada que reenviar.').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Cerrar' }).last().click()
    await page.getByLabel('Estado').selectOption('delivered')
    await page.waitForURL(/status=delivered/)
    await page.locator('summary', { hasText: 'webhook.test' }).nth(1).waitFor({ timeout: 240_000 })

    await page.getByRole('button', { name: 'Rotar el secreto' }).click()
    await page.getByRole('button', { name: 'Crear el siguiente secreto' }).click()
    const next = (await page.getByRole('dialog').locator('code').textContent())!
    expect([next.startsWith('whsec_'), next === secret]).toEqual([true, false])
    await page.getByRole('button', { name: 'Firmar con el nuevo' }).click()
    await page.getByText('ya se firma con el nuevo secreto').waitFor()
    await page.keyboard.press('Escape')
    await page.getByText(`whsec_…${next.slice(-4)}`).waitFor()
    await page.getByRole('button', { name: 'Desactivar', exact: true }).click()
    await page.getByRole('button', { name: 'Activar', exact: true }).waitFor()
    expect(await page.getByRole('button', { name: 'Enviar prueba', exact: true }).isDisabled()).toBe(true)
    expect(complaints).toEqual([])
    await context.close()
  }, 180_000)

  it('storage: what is wrong is told beside its field; a test says its steps', async () => {
    const { context, page } = await world.enter(browser)
    await page.goto(at(`/storage/${world.ids['connector_id']}`))
    await page.getByRole('button', { name: 'Probar', exact: true }).click()
    await page.getByText('Escribir').waitFor()
    await page.getByRole('button', { name: 'Cambiar', exact: true }).click()
    await page.getByLabel('Bucket').fill('..')
    await page.getByRole('button', { name: 'Guardar', exact: true }).click()
    await page.locator('[aria-invalid=true]').waitFor()
    expect(await page.locator('[aria-invalid=true]').inputValue()).toBe('..')
    await page.getByLabel('Bucket').fill('otro-archivo')
    await page.getByRole('button', { name: 'Guardar', exact: true }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByText('otro-archivo').waitFor()
    await page.getByRole('button', { name: 'Pausar', exact: true }).click()
    await page.getByText('Pausado').waitFor()
    await context.close()
  }, 60_000)

  it('a member sees all of it and changes none of it, and is told why', async () => {
    type Credential = Record<'api_key' | 'api_secret', string>
    const { api_key, api_secret } = await world.customer.ask<Credential>('POST', '/v1/credentials', { name: 'Lectura', role: 'member' })
    const authorization = `Basic ${btoa(`${api_key}:${api_secret}`)}`
    const link = await fetch(`${world.service.url}/console/links`, { method: 'POST', headers: { authorization } })
    const context = await browser.newContext({ locale: 'es-MX' })
    const page = await context.newPage()
    await followLink(page, ((await link.json()) as { url: string }).url)
    const asked: string[] = []
    page.on('request', (request) => request.method() !== 'GET' && asked.push(request.url()))
    const [extractor] = await world.customer.ask<{ extractor_id: string }[]>('GET', '/v1/extractors')
    for (const [path, shown, buttons] of [
      ['/extractors', 'Diario', ['Nuevo extractor']],
      [`/extractors/${extractor!.extractor_id}`, 'Calendario', ['Guardar cambios', 'Correr ahora', 'Pausar', 'Borrar']],
      ['/runs', 'Las descargas son de administradores y propietarios', ['Descargar un periodo']],
      [
        `/webhooks/${world.ids['webhook_id']}`,
        'Contabilidad',
        ['Enviar prueba', 'Cambiar', 'Rotar el secreto', 'Reenviar lo que no llegó…'],
      ],
      [`/storage/${world.ids['connector_id']}`, 'Archivo', ['Probar', 'Copiar lo que ya hay', 'Cambiar', 'Borrar']],
    ] as const) {
      await page.goto(at(path))
      await page.getByText(shown).first().waitFor()
      for (const name of buttons) {
        const button = page.getByRole('button', { name, exact: true })
        expect([name, await button.isDisabled(), await button.getAttribute('title')]).toEqual([
          name,
          true,
          'Solo un administrador o propietario puede hacer esto.',
        ])
      }
    }
    await page.goto(at(`/extractors/${extractor!.extractor_id}`))
    expect(await page.getByLabel('Nombre').isDisabled()).toBe(true)
    expect(asked).toEqual([])
    await context.close()
  }, 60_000)
})

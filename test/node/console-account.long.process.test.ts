import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chromiumPath, findings, followLink, listen, openBrowser, settle } from '../../scripts/browser.ts'
import { Customer } from '../../scripts/customer.ts'
import { ConsoleWorld } from './support/console-world.ts'
import { discard } from './support/runner.ts'

interface AuditEvent {
  actor: string
  action: string
  resource_id: string
  created_at: string
  request_id: string
}

describe.skipIf(chromiumPath() === null)('the account in the console', () => {
  let world: ConsoleWorld
  let browser: Browser

  beforeAll(async () => {
    ;[world, browser] = await Promise.all([ConsoleWorld.start(), openBrowser()])
  })
  afterAll(async () => {
    await browser?.close()
    if (world) await discard(world.service.stateDir, [world.service])
  })

  const at = (path: string): string => `${world.service.url}/console${path}`

  /** A browser in which a customer is signed in. */
  async function enter(customer: Customer): Promise<{ page: Page; complaints: string[]; leave: () => Promise<void> }> {
    const context = await browser.newContext({ locale: 'es-MX', viewport: { width: 1280, height: 900 } })
    const page = await context.newPage()
    const complaints = listen(page, world.service.url)
    await followLink(page, await world.link(customer))
    return { page, complaints, leave: () => context.close() }
  }

  const rowsOf = (page: Page, label: string) => page.getByRole('region', { name: label }).locator('tbody tr')

  it('an assistant who can only read is invited, comes in by the link, sees why nothing can be changed or exported', async () => {
    const { page, complaints, leave } = await enter(world.customer)
    await page.goto(at('/team'))
    await page.getByRole('button', { name: 'Invitar' }).click()
    await page.getByLabel('Correo').fill('auxiliar@mailinator.com')
    await page.getByRole('button', { name: 'Crear la invitación' }).click()
    await page.locator('dialog [aria-invalid=true]').waitFor()
    expect(await page.locator('dialog [role=alert]').first().textContent()).toContain('Use un correo permanente')
    await page.getByLabel('Correo').fill('auxiliar@example.com')
    // The role that may least is chosen already.
    expect(await page.getByLabel('Rol').inputValue()).toBe('member')
    expect(await page.getByLabel('Rol').locator('option:checked').textContent()).toBe('Miembro (solo consulta)')
    await page.getByRole('button', { name: 'Crear la invitación' }).click()
    await page.getByText('Invitación para auxiliar@example.com').waitFor()
    const link = (await page.locator('[role=status] code').textContent())!
    expect(link).toMatch(/\/console\/invitation#token=/)
    expect(await rowsOf(page, 'Invitaciones pendientes').count()).toBe(1)
    expect(await findings(page)).toEqual([])
    await page.getByRole('button', { name: 'Ya lo guardé' }).click()
    expect(await page.content()).not.toContain(link)

    const context = await browser.newContext({ locale: 'es-MX' })
    const invited = await context.newPage()
    await invited.goto(link)
    // Before it is accepted, it says whose it is.
    await invited.getByText('auxiliar@example.com').waitFor()
    expect(await invited.locator('dl').textContent()).toMatch(/Ada Pérez.*RolMiembro/)
    await invited.getByLabel('Su nombre').fill('Luz Auxiliar')
    expect(invited.url()).toBe(at('/invitation'))
    await invited.getByRole('button', { name: 'Aceptar' }).click()
    await invited.getByText('Guarde su credencial').waitFor()
    await invited.getByText('Guarde esta clave y este secreto').waitFor()
    await invited.getByRole('button', { name: 'Ya la guardé: entrar' }).click()
    await invited.locator('[data-rfc=DEM050101AB9]').waitFor()
    expect(await invited.getByRole('button', { name: 'Conectar RFC' }).isDisabled()).toBe(true)
    await invited.goto(at('/team'))
    await rowsOf(invited, 'Personas').nth(1).waitFor()
    // Whoever reads may sort and save a table.
    const buttons = invited.locator('main button:not(th button, [title^="Descargar en"])')
    for (let n = 0; n < (await buttons.count()); n++) {
      expect(await buttons.nth(n).isDisabled()).toBe(true)
      expect(await buttons.nth(n).getAttribute('title')).toMatch(/^Solo un (administrador|propietario)/)
    }
    await invited.goto(at('/credentials'))
    expect(await invited.getByRole('button', { name: 'Nueva credencial' }).isDisabled()).toBe(true)
    await invited.goto(at('/audit-events'))
    await invited.getByText('La auditoría es de administradores y propietarios').waitFor()
    await invited.goto(`${at('/cfdi')}?direction=issued`)
    const exporting = invited.getByRole('button', { name: 'Exportar' })
    expect(await exporting.isDisabled()).toBe(true)
    expect(await exporting.getAttribute('title')).toBe('Solo un administrador o propietario puede hacer esto.')
    const fiscal_entity_id = world.ids['fiscal_entity_id']!
    await world.customer.ask('POST', '/v1/exports', { fiscal_entity_id, kind: 'pagos', format: 'csv' })
    await invited.goto(at('/exports'))
    const removing = rowsOf(invited, 'Exportaciones').getByRole('button', { name: /^Borrar/ })
    await removing.first().waitFor()
    expect(await removing.first().isDisabled()).toBe(true)
    await context.close()

    // The owner sees who joined, and removes the assistant with what signs them in.
    await page.reload()
    await page.getByRole('button', { name: 'Quitar a Luz Auxiliar' }).click()
    await page.getByRole('dialog').getByText('Se revocan:').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Quitar', exact: true }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByText('Luz Auxiliar').waitFor({ state: 'detached' })
    // The only owner stays.
    await page.getByRole('button', { name: 'Quitar a Ada Pérez' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Quitar', exact: true }).click()
    await page.getByRole('dialog').getByText('Es el último propietario que puede actuar').waitFor()
    expect(complaints).toEqual([])
    await leave()
  }, 120_000)

  it('a credential is shown once and works; revoking the one that signed in leads to the way in', async () => {
    const customer = await Customer.signUp(world.service.url, 'Despacho Llaves')
    const { page, leave } = await enter(customer)
    await page.goto(at('/credentials'))
    await page.getByRole('button', { name: 'Nueva credencial' }).click()
    await page.getByLabel('Nombre').fill('Contabilidad nocturna')
    await page.getByLabel('Rol').selectOption('owner')
    await page.getByLabel('Vence el').fill('2199-01-15')
    await page.getByRole('button', { name: 'Crear', exact: true }).click()
    await page.getByText('Guarde la credencial Contabilidad nocturna').waitFor()
    const [api_key, api_secret] = await page.locator('[role=status] code').allTextContents()
    const answered = await fetch(`${world.service.url}/v1/credentials`, {
      headers: { authorization: `Basic ${btoa(`${api_key}:${api_secret}`)}` },
    })
    const { data } = (await answered.json()) as { data: { api_key: string; expires_at: string | null; last_used_on: string | null }[] }
    // Midnight in the zone of the organization.
    expect(data.find((one) => one.api_key === api_key)!.expires_at).toBe('2199-01-15T06:00:00.000Z')
    await page.reload()
    await page.getByText('Con esta entró usted').waitFor()
    expect(await page.content()).not.toContain(api_secret!)
    expect(await rowsOf(page, 'Credenciales').count()).toBe(2)

    // Another owner has to be able to act for as long as this one.
    const { api_key: own } = customer.credential
    await page.getByRole('row').filter({ hasText: own }).getByRole('button').click()
    await page.getByText('saldrá de la consola ahora mismo').waitFor()
    expect(await findings(page)).toEqual([])
    const revoke = page.getByRole('dialog').getByRole('button', { name: 'Revocar', exact: true })
    await revoke.click()
    await page.getByText('Es la última credencial de un propietario').waitFor()
    await customer.ask('POST', '/v1/credentials', { name: 'Otra', role: 'owner' })
    await revoke.click()
    await page.getByText('La sesión terminó').waitFor()
    await page.getByLabel('Clave (api_key)').fill(own)
    await page.getByLabel('Secreto (api_secret)').fill(customer.credential.api_secret)
    await page.getByRole('button', { name: 'Entrar' }).click()
    await page.getByText('Esa credencial no existe, venció o fue revocada.').waitFor()
    await leave()
  }, 60_000)

  it('the filters of the audit are its address, and its rows are those of the API', async () => {
    const { page, complaints, leave } = await enter(world.customer)
    const events = async (query = '') => (await world.customer.ask<{ data: AuditEvent[] }>('GET', `/v1/audit-events?limit=50${query}`)).data
    const shown = async (expected: AuditEvent[]) => {
      await expect
        .poll(() => rowsOf(page, 'Auditoría').locator('td:last-child small').allTextContents(), { timeout: 20_000 })
        .toEqual(expected.map((one) => one.request_id))
      expect(
        await rowsOf(page, 'Auditoría')
          .locator('time')
          .evaluateAll((all) => all.map((one) => one.getAttribute('datetime'))),
      ).toEqual(expected.map((one) => one.created_at))
    }
    await page.goto(at('/audit-events'))
    await shown(await events())
    await page.getByRole('button', { name: 'Filtro', exact: true }).click()
    await page.getByLabel('Qué', { exact: true }).selectOption('webhook.created')
    await shown(await events('&action=webhook.created'))
    expect(new URL(page.url()).searchParams.get('action')).toBe('webhook.created')
    const actor = world.customer.credential.api_key
    await page.getByLabel('Quién').selectOption(actor)
    await shown(await events(`&action=webhook.created&actor=${actor}`))
    // A day of the zone is from its first to its last instant.
    const [first] = await events('&action=webhook.created')
    const day = new Intl.DateTimeFormat('en-CA', { timeZone: 'America/Mexico_City' }).format(new Date(first!.created_at))
    await page.getByLabel('Desde').fill(day)
    await page.getByLabel('Hasta').fill(day)
    await page.keyboard.press('Escape')
    const params = new URL(page.url()).searchParams
    expect(params.get('since')).toBe(`${day}T06:00:00.000Z`)
    expect(Date.parse(params.get('until')!) - Date.parse(params.get('since')!)).toBe(86_400_000 - 1)
    await shown(await events(`&${params}`))

    // The address alone brings the same page, and the chips take its filters away.
    await page.reload()
    await shown(await events(`&${params}`))
    expect(await page.getByRole('group', { name: 'Filtros' }).locator('b').allTextContents()).toContain('Webhook creado')
    await page.getByLabel('Quitar el filtro Desde').click()
    await page.getByLabel('Quitar el filtro Hasta').click()
    await page.getByLabel('Quitar el filtro Qué').click()
    await shown(await events(`&actor=${actor}`))
    await page.getByRole('button', { name: 'Quitar todos' }).click()
    await shown(await events())
    expect(new URL(page.url()).search).toBe('')
    await page.getByRole('link', { name: first!.resource_id, exact: true }).first().click()
    await shown(await events(`&resource_id=${first!.resource_id}`))
    await page.goto(`${at('/audit-events')}?since=2199-12-31T00%3A00%3A00.000Z`)
    await page.getByText('Nada con esos filtros').waitFor()
    await page.goto(`${at('/audit-events')}?since=ayer`)
    await page.getByRole('heading', { name: 'Un filtro de la dirección no vale' }).waitFor()
    await page.getByRole('alert').getByRole('button', { name: 'Quitar el filtro Desde' }).click()
    await shown(await events())
    expect(new URL(page.url()).search).toBe('')
    expect(complaints).toEqual([])
    await leave()
  }, 120_000)

  it('from the audit to one CFDI as it stood on a day, with its history', async () => {
    const { page, leave } = await enter(world.customer)
    const { uuid, fiscal_entity_id } = world.ids as { uuid: string; fiscal_entity_id: string }
    const { events } = await world.customer.ask<{ events: { at: string | null }[] }>(
      'GET',
      `/v1/cfdi/${uuid}/history?fiscal_entity_id=${fiscal_entity_id}`,
    )
    const today = new Intl.DateTimeFormat('en-CA', { timeZone: 'America/Mexico_City' }).format(new Date())
    await page.goto(at('/audit-events'))
    await page.getByRole('button', { name: 'Cómo estaba un CFDI' }).click()
    await page.getByLabel('Día', { exact: true }).fill(today)
    await page.getByLabel('UUID del CFDI (opcional)').fill(uuid)
    await page.getByRole('button', { name: 'Ver', exact: true }).click()
    await page.getByRole('heading', { name: 'Historia' }).waitFor()
    expect(new URL(page.url()).searchParams.get('as_of')).toBe(today)
    const note = page.getByRole('note').filter({ hasText: 'Así estaba este CFDI al cierre del' })
    await note.getByText('Este servicio supo de él el').waitFor()
    expect(await page.getByRole('link', { name: 'Imprimir (PDF)' }).getAttribute('href')).toContain(`as_of=${today}`)
    await page.getByText('No se muestran aquí, porque son los de hoy.').waitFor()
    const history = page.locator('section').filter({ has: page.getByRole('heading', { name: 'Historia' }) })
    await history.getByText('Se descargó por primera vez').waitFor()
    expect(await history.locator('ol li').count()).toBe(events.length)
    // Every event that has an instant shows its time of day.
    expect(
      await history
        .locator('ol small')
        .filter({ hasText: /\d:\d\d/ })
        .count(),
    ).toBe(events.filter((one) => one.at !== null).length)

    // A list of a day leads to its documents as of that day.
    await page.goto(`${at('/cfdi')}?fiscal_entity_id=${fiscal_entity_id}&as_of=${today}`)
    await rowsOf(page, 'Lista de CFDI').first().getByRole('link').click()
    await page.getByText('Así estaba este CFDI al cierre del').waitFor()

    await page.goto(at('/audit-events'))
    await page.getByRole('button', { name: 'Cómo estaba un CFDI' }).click()
    await page.getByLabel('Qué quiere ver').selectOption('learned')
    await page.getByLabel('UUID del CFDI', { exact: true }).fill(uuid)
    await page.getByRole('button', { name: 'Ver', exact: true }).click()
    await history.getByText('Se descargó por primera vez').waitFor()
    expect(new URL(page.url()).searchParams.get('as_of')).toBeNull()
    await leave()
  }, 60_000)

  it('the RFC that is chosen on one page is shown on the next, and the address names it', async () => {
    const { page, leave } = await enter(world.customer)
    const other = { fiscal_entity_id: 'fe_01m85c9n97ek09mn0m649fha0x', rfc: 'OTR050101AB9', name: 'Otra Razón Social' }
    const mine = await world.customer.ask<{ data: object[] }>('GET', '/v1/fiscal-entities')
    await page.route('**/v1/fiscal-entities?*', (route) =>
      route.fulfill({ json: { ...mine, data: [...mine.data, { ...mine.data[0], ...other }] } }),
    )
    await page.goto(at('/cfdi'))
    const picker = page.getByRole('combobox', { name: 'RFC', exact: true })
    await picker.selectOption(other.fiscal_entity_id)
    await page.getByRole('link', { name: 'Equipo' }).click()
    await page.getByRole('heading', { level: 1, name: 'Equipo' }).waitFor()
    expect(new URL(page.url()).search).toBe('')
    await page.getByRole('link', { name: 'Posición de IVA' }).click()
    await page.getByRole('heading', { level: 1, name: 'Posición de IVA' }).waitFor()
    await page.waitForURL(`**/analytics/vat-position?fiscal_entity_id=${other.fiscal_entity_id}`)
    expect(await picker.inputValue()).toBe(other.fiscal_entity_id)
    expect(await picker.locator('option:checked').textContent()).toBe(`${other.rfc} · ${other.name}`)
    await leave()
  }, 60_000)

  it('a CFDI leads to the authority with what its XML says', async () => {
    const { page, leave } = await enter(world.customer)
    const { uuid, fiscal_entity_id } = world.ids as { uuid: string; fiscal_entity_id: string }
    await page.goto(`${at(`/cfdi/${uuid}`)}?fiscal_entity_id=${fiscal_entity_id}`)
    const address = (await page.getByRole('link', { name: 'Verificar en el SAT' }).getAttribute('href'))!
    const { api_key, api_secret } = world.customer.credential
    const xml = await (
      await fetch(`${world.service.url}/v1/cfdi/${uuid}/xml?fiscal_entity_id=${fiscal_entity_id}`, {
        headers: { authorization: `Basic ${btoa(`${api_key}:${api_secret}`)}` },
      })
    ).text()
    const said = (pattern: RegExp) => pattern.exec(xml)![1]!.replaceAll('&amp;', '&')
    const { origin, pathname, searchParams } = new URL(address)
    expect(origin + pathname).toBe('https://verificacfdi.facturaelectronica.sat.gob.mx/default.aspx')
    expect([...searchParams.keys()]).toEqual(['id', 're', 'rr', 'tt', 'fe'])
    expect(searchParams.get('id')!.toUpperCase()).toBe(said(/ UUID="([^"]+)"/).toUpperCase())
    expect(searchParams.get('re')).toBe(said(/<cfdi:Emisor[^>]* Rfc="([^"]+)"/))
    expect(searchParams.get('rr')).toBe(said(/<cfdi:Receptor[^>]* Rfc="([^"]+)"/))
    expect(Number(searchParams.get('tt'))).toBe(Number(said(/<cfdi:Comprobante[^>]* Total="([^"]+)"/)))
    expect(searchParams.get('fe')).toBe(said(/<cfdi:Comprobante[^>]* Sello="([^"]+)"/).slice(-8))
    await leave()
  }, 60_000)

  it('the zone of the organization decides which times are shown, and the plan shows what the API says', async () => {
    const customer = await Customer.signUp(world.service.url, 'Despacho Zona')
    const { page, leave } = await enter(customer)
    await page.goto(at('/organization'))
    await page.getByLabel('Zona horaria').selectOption('America/Tijuana')
    await page.getByLabel('Nombre').fill('Despacho del Norte')
    await page.getByRole('button', { name: 'Guardar' }).click()
    await page.getByText('Guardado.').waitFor()
    expect(await customer.ask('GET', '/v1/organization')).toMatchObject({ name: 'Despacho del Norte', timezone: 'America/Tijuana' })
    await page.locator('header').getByText('Despacho del Norte').waitFor()
    const { data } = await customer.ask<{ data: { created_at: string }[] }>('GET', '/v1/credentials')
    const time = new Intl.DateTimeFormat('es-MX', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'America/Tijuana' })
    await page.goto(at('/credentials'))
    await rowsOf(page, 'Credenciales')
      .getByText(time.format(new Date(data[0]!.created_at)))
      .first()
      .waitFor()

    await page.goto(at('/billing'))
    const { quotas } = await customer.ask<{ quotas: Record<string, { limit: number }> }>('GET', '/v1/billing/usage')
    const usage = rowsOf(page, 'Uso')
    await usage.first().waitFor()
    // And the answers that are kept for repetitions.
    expect(await usage.count()).toBe(Object.keys(quotas).length + 1)
    expect(await usage.filter({ hasText: 'RFC en listas propias' }).locator('td').nth(2).textContent()).toBe(
      new Intl.NumberFormat('es-MX').format(quotas['blacklist_entries']!.limit),
    )
    const { data: plans } = await customer.ask<{ data: { name: string; checkout: { url: string } | null }[] }>('GET', '/v1/billing/plans')
    const offered = await rowsOf(page, 'Planes')
      .locator('a')
      .evaluateAll((all) => all.map((one) => one.getAttribute('href')))
    expect(offered).toEqual(plans.flatMap(({ checkout }) => (checkout ? [checkout.url] : [])))
    await page.getByText('La prueba cubre un RFC, hasta el').waitFor()
    expect(await findings(page)).toEqual([])
    await settle(page)
    await leave()
  }, 60_000)
})

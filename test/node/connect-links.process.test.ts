import '../support/base64.ts'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chromiumPath, findings, listen, openBrowser } from '../../scripts/browser.ts'
import { Customer, randomRfc } from '../../scripts/customer.ts'
import { efirmaOf } from '../taxpayers/support/efirmas.ts'
import { discard, freePort, freshState, Started } from './support/runner.ts'

const isMissing = chromiumPath() === null
const name = isMissing ? 'the page of a connect link in Chromium (skipped: there is none)' : 'the page of a connect link in Chromium'

const PHONE = { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true, locale: 'es-MX' } as const
const PURPOSES = [
  { key: 'credit_evaluation', necessary: true },
  { key: 'marketing', necessary: false },
]

describe.skipIf(isMissing)(name, () => {
  let service: Started
  let browser: Browser
  let customer: Customer
  const files = mkdtempSync(join(tmpdir(), 'efirma-'))

  beforeAll(async () => {
    ;[service, browser] = await Promise.all([freePort().then((port) => new Started(freshState(), port).ready()), openBrowser()])
    customer = await Customer.signUp(service.url, 'Crédito Uno')
    await customer.ask('POST', '/v1/test-helpers/organization', { plan: 'api' })
  })
  afterAll(async () => {
    await browser?.close()
    rmSync(files, { recursive: true, force: true })
    if (service) await discard(service.stateDir, [service])
  })

  const link = (rfc: string | null) =>
    customer.ask<{ url: string; connect_link_id: string }>('POST', '/v1/connect-links', { rfc, purposes: PURPOSES })

  const visit = async (url: string, options: object = PHONE) => {
    const context = await browser.newContext(options)
    const page = await context.newPage()
    const complaints = listen(page, service.url)
    await page.goto(url)
    const isWide = () => page.evaluate('document.documentElement.scrollWidth > innerWidth') as Promise<boolean>
    const faults = async () => [...(await findings(page)), ...complaints, ...((await isWide()) ? ['scrolls sideways'] : [])]
    return { context, page, faults }
  }

  it('on a phone, by keyboard alone: a mistake is told, the consent is given, and the code of the receipt withdraws it', async () => {
    const { url } = await link(null)
    const { context, page, faults } = await visit(url)
    expect(await faults()).toEqual([])
    await page.getByLabel('Leí el texto').focus()
    await page.keyboard.press('Space')
    await page.getByLabel('Nombre completo').focus()
    await page.keyboard.type('Ada Pérez')
    await page.getByLabel('RFC', { exact: true }).focus()
    await page.keyboard.type(randomRfc())
    await page.getByLabel('Contraseña del SAT (CIEC)').last().focus()
    await page.keyboard.type('mi frase de e.firma')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').getByText('La contraseña del SAT no lleva espacios').waitFor()
    expect(await page.evaluate('document.activeElement.getAttribute("role")')).toBe('alert')
    expect(await page.getByLabel('Nombre completo').inputValue()).toBe('Ada Pérez')
    expect(await page.getByLabel('Contraseña del SAT (CIEC)').last().inputValue()).toBe('')
    expect(await faults()).toEqual([])
    await page.getByLabel('Leí el texto').check()
    await page.getByLabel('Contraseña del SAT (CIEC)').last().fill('secreta1')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Listo: el SAT aceptó su acceso' }).waitFor()
    expect(await faults()).toEqual([])
    expect(await context.cookies()).toEqual([])
    await page.getByRole('link', { name: 'Leer o retirar el consentimiento' }).click()
    await page.getByRole('button', { name: 'Retirar el consentimiento' }).waitFor()
    expect(await faults()).toEqual([])
    await page.getByRole('button', { name: 'Retirar el consentimiento' }).click()
    await page.getByText('Retiró su consentimiento').waitFor()
    await context.close()
  }, 120_000)

  it('signs the consent with the e.firma in the browser, in English and in the dark, and knows a wrong password by itself', async () => {
    const rfc = randomRfc()
    const efirma = efirmaOf(rfc)
    const [certificate, key] = [join(files, 'a.cer'), join(files, 'a.key')]
    writeFileSync(certificate, Buffer.from(efirma.certificate, 'base64'))
    writeFileSync(key, Buffer.from(efirma.private_key, 'base64'))
    const { url } = await link(rfc)
    const { context, page, faults } = await visit(url, { ...PHONE, colorScheme: 'dark' })
    await page.getByRole('link', { name: 'English' }).click()
    await page.getByLabel('I have read the text').check()
    await page.getByLabel('Offer other products').check()
    await page.getByLabel('Full name').fill('Ada')
    await page.getByLabel('e.firma', { exact: true }).check()
    await page.getByLabel('Certificate (.cer)').setInputFiles(certificate)
    await page.getByLabel('Private key (.key)').setInputFiles(key)
    await page.getByLabel('Password of the private key').fill('another')
    expect(await faults()).toEqual([])
    const sent: string[] = []
    page.on('request', (request) => void (request.method() === 'POST' && sent.push(request.url())))
    await page.getByRole('button', { name: 'Connect' }).click()
    await page.getByText('The password does not open the private key').waitFor()
    expect(sent).toEqual([])
    await page.getByLabel('Password of the private key').fill(efirma.password)
    await page.getByRole('button', { name: 'Connect' }).click()
    await page.getByRole('heading', { name: 'Done: the SAT accepted your access' }).waitFor()
    const { data } = await customer.ask<{ data: { rfc: string; method: string; purposes: { granted: boolean }[] }[] }>(
      'GET',
      '/v1/consents',
    )
    const consent = data.find((one) => one.rfc === rfc)!
    expect([consent.method, consent.purposes.map(({ granted }) => granted)]).toEqual(['efirma_signed', [true, true]])
    await context.close()
  }, 120_000)

  it('works without a script', async () => {
    const { url } = await link(randomRfc())
    const { context, page } = await visit(url, { javaScriptEnabled: false })
    await page.getByLabel('Leí el texto').check()
    await page.getByLabel('Nombre completo').fill('Ada')
    await page.getByLabel('Contraseña del SAT (CIEC)').last().fill('secreta1')
    await page.getByRole('button', { name: 'Conectar' }).click()
    await page.getByRole('heading', { name: 'Listo: el SAT aceptó su acceso' }).waitFor()
    await context.close()
  }, 120_000)
})

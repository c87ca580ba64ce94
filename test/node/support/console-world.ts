import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser, BrowserContext, BrowserContextOptions, Page as BrowserPage } from 'playwright-core'
import { followLink, listen } from '../../../scripts/browser.ts'
import { Customer } from '../../../scripts/customer.ts'
import { ROOT } from '../../../scripts/wrangler.ts'
import { freePort, freshState, Started } from './runner.ts'

const PAGES = join(ROOT, 'console/pages')

/** What a test knows of a page. Its whole type is of the browser, whose types those of Workers contradict. */
interface Page {
  path: string
  name: { es: string; en: string }
}

/** Every page that is registered. */
export async function registeredPages(): Promise<Page[]> {
  const files = readdirSync(PAGES, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('/page.ts'))
  return Promise.all(files.sort().map(async (file) => ((await import(join(PAGES, file))) as { page: Page }).page))
}

type Ids = Record<string, string>

/** What pages with parameters are opened with. A page that needs another thing adds it here. */
async function idsOf(customer: Customer, fiscal_entity_id: string): Promise<Ids> {
  const first = async (path: string, id: string): Promise<Ids> => {
    const answer = await customer.ask<{ data: Ids[] } | Ids[]>('GET', path)
    const [one] = Array.isArray(answer) ? answer : answer.data
    return one?.[id] ? { [id]: one[id] } : {}
  }
  const webhook = await customer.ask<{ webhook_id: string }>('POST', '/v1/webhooks', {
    name: 'Contabilidad',
    url: 'https://hooks.example.com/fiscal',
    event_keys: ['sync.completed'],
  })
  const connector = await customer.ask<{ connector_id: string }>('POST', '/v1/storage-connectors', {
    ...{ name: 'Archivo', provider: 's3', config: { bucket: 'archivo-fiscal' } },
    credentials: { access_key_id: 'AKIA0', secret_access_key: 'none' },
  })
  const { data: invoices } = await customer.ask<{ data: { uuid: string; payment_status: string | null }[] }>(
    'GET',
    `/v1/cfdi?fiscal_entity_id=${fiscal_entity_id}&metodo_pago=PPD&limit=20`,
  )
  return {
    fiscal_entity_id,
    uuid: (invoices.find((one) => one.payment_status !== 'unpaid') ?? invoices[0])!.uuid,
    webhook_id: webhook.webhook_id,
    ...(await first('/v1/extractors', 'extractor_id')),
    ...(await first(`/v1/fiscal-entities/${fiscal_entity_id}/runs`, 'run_id')),
    connector_id: connector.connector_id,
    ...(await first(`/v1/fiscal-entities/${fiscal_entity_id}/documents?limit=1`, 'document_id')),
    ...(await first('/v1/credentials', 'api_key')),
    ...(await first('/v1/team/members', 'member_id')),
    key: 'vat-position',
    report: 'diot',
  }
}

/** A service of its own with one organization, whose RFC has every kind of document. */
export class ConsoleWorld {
  readonly service: Started
  readonly customer: Customer
  readonly ids: Ids

  private constructor(service: Started, customer: Customer, ids: Ids) {
    this.service = service
    this.customer = customer
    this.ids = ids
  }

  static async start(environment: Record<string, string> = {}): Promise<ConsoleWorld> {
    const service = await new Started(freshState(), await freePort(), environment).ready()
    const customer = await Customer.signUp(service.url, 'Despacho de Prueba')
    const id = await customer.connect('DEM050101AB9')
    for (let done = false; !done; await sleep(300)) {
      const { status, jobs } = await customer.sync(id)
      done = status === 'idle' && jobs.total > 0
    }
    return new ConsoleWorld(service, customer, await idsOf(customer, id))
  }

  /** The address of a page, with what it needs. */
  addressOf(path: string): string {
    const filled = path.replace(/:(\w+)/g, (_, name: string) => {
      const id = this.ids[name]
      if (id === undefined) throw new Error(`${path}: test/node/support/console-world.ts has no ${name}.`)
      return id
    })
    return `${this.service.url}/console${filled}?fiscal_entity_id=${this.ids['fiscal_entity_id']}`
  }

  async link(customer = this.customer): Promise<string> {
    return (await customer.ask<{ url: string }>('POST', '/console/links')).url
  }

  /** A browser that is signed in, and what it complains of. */
  async enter(
    browser: Browser,
    options: BrowserContextOptions = {},
  ): Promise<{ context: BrowserContext; page: BrowserPage; complaints: string[] }> {
    const context = await browser.newContext({ locale: 'es-MX', ...options })
    const page = await context.newPage()
    const complaints = listen(page, this.service.url)
    await followLink(page, await this.link())
    return { context, page, complaints }
  }
}

import { setTimeout as sleep } from 'node:timers/promises'
import { Customer, randomRfc } from './customer.ts'
import { showInsight } from './demo-insight.ts'
import { receiver, showMonth } from './demo-month.ts'
import { runnerOf } from './leftovers.ts'
import { placeOf, Refusal, Service } from './service.ts'
import { amount, short, table } from './table.ts'

interface Cfdi {
  fecha: string
  direction: string
  tipo_comprobante: string | null
  counterparty: { rfc: string; nombre: string | null } | null
  total: string
  currency: string
  estatus: string
  payment_status: string | null
  uuid: string
}

interface Month {
  month: string
  direction: string
  count: number
  cancelled_count: number
  subtotal: string
  iva_trasladado: string
  total: string
}

const DOWNLOAD_WITHIN = 10 * 60_000
const HEALTHY_WITHIN = 120_000
const BAR = 40

async function showProgress(customer: Customer, fiscal_entity_id: string): Promise<void> {
  const { isTTY } = process.stdout
  let shown = -1
  for (const until = Date.now() + DOWNLOAD_WITHIN; ; await sleep(150)) {
    const { status, jobs, percent } = await customer.sync(fiscal_entity_id)
    const filled = Math.floor((percent * BAR) / 100)
    const line = `  ${'█'.repeat(filled)}${'░'.repeat(BAR - filled)} ${String(percent).padStart(3)} %  ${jobs.succeeded} of ${jobs.total} downloads`
    if (isTTY) process.stdout.write(`\r${line}`)
    else if (Math.floor(percent / 10) > shown) console.log(line)
    shown = Math.floor(percent / 10)
    if (status === 'idle' && jobs.total > 0) {
      if (isTTY) console.log()
      if (jobs.failed > 0) throw new Error(`${jobs.failed} downloads failed.`)
      return
    }
    if (Date.now() > until) throw new Error(`The downloads did not finish within ${DOWNLOAD_WITHIN / 60_000} minutes.`)
  }
}

async function tour(url: string, received: readonly string[]): Promise<void> {
  const customer = await Customer.signUp(url, 'Despacho de Demostración')
  console.log('\nSigned up “Despacho de Demostración”.')
  const rfc = randomRfc('DEM')
  const id = await customer.connect(rfc)
  console.log(`Connected ${rfc} to the sandbox of the tax authority. Downloading three years of CFDIs:\n`)
  await showProgress(customer, id)

  const { data: page } = await customer.ask<{ data: Cfdi[] }>('GET', `/v1/cfdi?fiscal_entity_id=${id}&limit=15`)
  const cells = page.map((one) => [
    one.fecha.slice(0, 10),
    one.direction,
    one.tipo_comprobante ?? '',
    short(one.counterparty?.nombre ?? one.counterparty?.rfc ?? null, 34),
    amount(one.total),
    one.currency,
    one.estatus,
    one.payment_status ?? '',
  ])
  console.log('\nThe newest CFDIs (GET /v1/cfdi):\n')
  console.log(table(['Fecha', 'Direction', 'Tipo', 'Counterparty', 'Total', 'Moneda', 'Estatus', 'Payment'], cells))

  const now = new Date()
  const monthsAgo = (n: number) => new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - n)).toISOString().slice(0, 7)
  const path = `/v1/cfdi/summary/monthly?fiscal_entity_id=${id}&from=${monthsAgo(5)}&to=${monthsAgo(0)}`
  const { data: months } = await customer.ask<{ data: Month[] }>('GET', path)
  console.log('\nMonth by month, MXN (GET /v1/cfdi/summary/monthly):\n')
  console.log(
    table(
      ['Month', 'Direction', 'CFDIs', 'Cancelled', 'Subtotal', 'IVA', 'Total'],
      months.map((one) => [
        one.month,
        one.direction,
        one.count,
        one.cancelled_count,
        amount(one.subtotal),
        amount(one.iva_trasladado),
        amount(one.total),
      ]),
    ),
  )

  const onward = await showInsight(customer, id)
  await showMonth(customer, id, received)
  const link = await customer.ask<{ url: string }>('POST', '/console/links')
  const { api_key, api_secret } = customer.credential
  console.log(`
Look at it in the console. The link says whom it signs in, and does so once, within an hour:

  ${link.url}

Try next:

  curl -u '${api_key}:${api_secret}' '${url}/v1/cfdi?fiscal_entity_id=${id}&limit=3'
  curl -u '${api_key}:${api_secret}' '${url}/v1/cfdi/${page[0]?.uuid}/xml?fiscal_entity_id=${id}'
  curl -u '${api_key}:${api_secret}' '${url}${path}'
${onward.map((one) => `  curl -u '${api_key}:${api_secret}' '${url}${one}'`).join('\n')}
  ${url}/docs
`)
}

/** A service that another terminal has just started answers soon. Throws an error that says why when it does not. */
async function untilHealthy(url: string): Promise<void> {
  const isUp = async () => (await fetch(`${url}/health`, { signal: AbortSignal.timeout(2_000) }).catch(() => null))?.ok === true
  for (const until = Date.now() + HEALTHY_WITHIN; !(await isUp()); await sleep(300))
    if (Date.now() > until)
      throw new Error(`The service at ${url} does not answer. Look at its terminal, or stop it there and run this again.`)
}

let starting: Promise<Service> | null = null
const stopping = new AbortController()
const stop = async (code: number): Promise<never> => {
  stopping.abort()
  // What is still starting stops itself.
  await starting?.then((service) => service.stop()).catch(() => null)
  process.exit(code)
}
const interrupted = async () => {
  if (stopping.signal.aborted) return
  console.log('\nStopping …')
  process.once('exit', () => console.log('Stopped.'))
  await stop(0)
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void interrupted())

try {
  const hooks = await receiver()
  const place = placeOf({ ...process.env, WEBHOOK_SINK: process.env['WEBHOOK_SINK'] || hooks.url })
  const running = runnerOf(place.stateDir)
  console.log(running ? `The service is already running: ${running.url}` : `Starting the service on ${place.stateDir} …`)
  if (!running) starting = Service.start(place, stopping.signal)
  const service = await starting
  if (running) await untilHealthy(running.url)
  await tour(running?.url ?? place.url, hooks.received)
  if (service && !process.argv.includes('--once')) {
    console.log('The service keeps running. Press Ctrl-C to stop it.')
    const reason = await service.ended
    if (reason !== null) throw new Refusal(reason)
  }
  await stop(0)
} catch (error) {
  if (!stopping.signal.aborted) {
    console.error(error instanceof Error ? error.message : error)
    await stop(1)
  }
}

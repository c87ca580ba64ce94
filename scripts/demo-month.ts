import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Customer } from './customer.ts'
import { amount } from './table.ts'
import { runScript } from './wrangler.ts'

interface Clock {
  now: string
  status: 'ready' | 'moving'
  move: { percent: number; happened: { runs: number; events: { event: string; count: number }[] } } | null
}

interface Cfdi {
  uuid: string
  total: string
  estatus: string
  cancelled_at: string | null
}

const DAYS = 30
const MONTH_WITHIN = 20 * 60_000
const DAY = 86_400_000

/** A server that keeps what webhooks send it. */
export async function receiver(): Promise<{ url: string; received: string[]; server: Server }> {
  const received: string[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk))
    request.on('end', () => {
      received.push(body)
      response.end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received, server }
}

async function pass(customer: Customer): Promise<Clock> {
  await customer.ask('POST', '/v1/test-helpers/clock', { advance: `P${DAYS}D` }).catch(async (error: unknown) => {
    if (!String(error).includes('clock.several_organizations')) throw error
    // Whose laptop it is operates the service.
    await runScript('scripts/clock.ts', [`${DAYS}`])
  })
  const { isTTY } = process.stdout
  for (const until = Date.now() + MONTH_WITHIN; Date.now() < until; await sleep(500)) {
    const clock = await customer.ask<Clock>('GET', '/v1/test-helpers/clock')
    if (isTTY) process.stdout.write(`\r  ${clock.now.slice(0, 16).replace('T', ' ')}`)
    if (clock.status === 'ready' && clock.move !== null) {
      if (isTTY) console.log()
      return clock
    }
  }
  throw new Error(`${DAYS} days did not pass within ${MONTH_WITHIN / 60_000} minutes.`)
}

/** A month passes: the authority cancels an invoice, and a webhook says so. */
export async function showMonth(customer: Customer, fiscal_entity_id: string, received: readonly string[]): Promise<void> {
  const query = `fiscal_entity_id=${fiscal_entity_id}&direction=received&estatus=vigente&tipo_comprobante=I&limit=1`
  const { data } = await customer.ask<{ data: Cfdi[] }>('GET', `/v1/cfdi?${query}`)
  const { uuid, total } = data[0]!
  await customer.ask('POST', '/v1/webhooks', { name: 'Demo', url: 'https://demo.example.com/hook', event_keys: ['cfdi.cancelled'] })
  const { now } = await customer.ask<Clock>('GET', '/v1/test-helpers/clock')
  // The trial outlasts the month.
  await customer.ask('POST', '/v1/test-helpers/organization', { trial_ends_at: new Date(Date.parse(now) + 2 * DAYS * DAY).toISOString() })
  const cancelled_at = new Date(Date.parse(now) + 2 * DAY).toISOString()
  await customer.ask('POST', `/v1/test-helpers/cfdi/${uuid}/cancel`, { fiscal_entity_id, cancelled_at })
  console.log(`\nIn two days the authority cancels an invoice of ${amount(total)}. A month passes (POST /v1/test-helpers/clock):\n`)
  const { move } = await pass(customer)
  const { runs, events } = move!.happened
  console.log(`  ${runs} runs, ${events.map(({ event, count }) => `${count} ${event}`).join(', ')}`)
  const after = await customer.ask<Cfdi>('GET', `/v1/cfdi/${uuid}?fiscal_entity_id=${fiscal_entity_id}`)
  console.log(`\nThe invoice is ${after.estatus} since ${after.cancelled_at}.`)
  const told = received.find((body) => body.includes(uuid.toLowerCase()) || body.includes(uuid.toUpperCase()))
  console.log(
    told === undefined
      ? 'The running service sends webhooks to its WEBHOOK_SINK; GET /v1/events has what they say.'
      : `The webhook said so:\n\n  ${told}`,
  )
}

import { changeEvents } from '../../platform/audit/audit.ts'
import { type Ctx, eventsOf } from '../../platform/context.ts'
import { Failure } from '../../platform/failures.ts'
import { countHourly } from '../../platform/locks/hourly.ts'
import { clock } from '../../platform/time/clock.ts'
import { openDestination, requireConnector } from '../connector.ts'
import { type Destination, DestinationError } from '../drivers/port.ts'
import type { ConnectorTest } from '../provider-contract.ts'

const COOLDOWN_SECONDS = 10

/**
 * Writes a small file, reads it back and deletes it, and says how each step went. Throws Failure 404 storage_connector.not_found, and 429
 * storage_connector.cooldown within ten seconds of the organization's last test of the destination and organization.hourly_limit.
 */
export async function testConnector(ctx: Ctx, connector_id: string): Promise<ConnectorTest> {
  const row = await requireConnector(ctx, connector_id)
  // It outlives the connector: one that is made again for the same destination waits too.
  const cooldown = ctx.env.COOLDOWNS.getByName(`connector-test:${ctx.organization.id}:${row.provider}:${row.config}`)
  const acquired = await cooldown.acquire(COOLDOWN_SECONDS, clock.now())
  if (!acquired.acquired) throw tooSoon(acquired.retry_after_seconds)
  await countHourly(ctx, 'connector_tests')
  await changeEvents(ctx, { action: 'storage_connector.tested', resource_id: connector_id }, [])
  const destination = await openDestination(ctx, eventsOf(ctx).$client, row)
  return await probe(destination)
}

async function probe(destination: Destination): Promise<ConnectorTest> {
  const id = crypto.randomUUID()
  const path = `connection-test-${id}.txt`
  const bytes = new TextEncoder().encode(`A test of the storage connector. It may be deleted. ${id}\n`)
  const sha256 = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)).toHex()
  const steps: ConnectorTest['steps'] = []
  const timed = async (step: 'write' | 'read' | 'delete', act: () => Promise<void>): Promise<void> => {
    const began = performance.now()
    const result = { step, ok: false, ms: 0 }
    steps.push(result)
    try {
      await act()
      result.ok = true
    } finally {
      result.ms = Math.round(performance.now() - began)
    }
  }
  try {
    await timed('write', () => destination.put(path, { bytes, content_type: 'text/plain', sha256 }))
    await timed('read', async () => {
      const found = await destination.read(path)
      if (found === null) throw new DestinationError('refused', 'The file that was written is not there.')
      if (!isSame(found, bytes)) throw new DestinationError('refused', 'The file that was read is not the one that was written.')
    })
    await timed('delete', () => destination.remove(path))
    return { ok: true, steps, error: null }
  } catch (error) {
    if (!(error instanceof DestinationError)) throw error
    if (steps.at(-1)?.step === 'read') await destination.remove(path).catch(() => {})
    return { ok: false, steps, error: { code: error.code, message: error.message } }
  }
}

const isSame = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && a.every((byte, n) => byte === b[n])

const tooSoon = (retry_after_seconds: number): Failure =>
  new Failure(
    'too_many_requests',
    'storage_connector.cooldown',
    `The destination was tested less than ${COOLDOWN_SECONDS} seconds ago. Try again in ${retry_after_seconds} s.`,
    { retry_after_seconds },
  )

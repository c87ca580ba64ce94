import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { cfdiOf, ISSUED, later, losingMessages, NOW, subscriber, work } from '../../downloads/support/downloads.ts'
import { freshRfc } from '../../support/tenants.ts'

beforeEach(() => {
  later(0)
  losingMessages()
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

type Subscriber = Awaited<ReturnType<typeof subscriber>>

const at = (seconds: number): string => new Date(Date.parse(NOW) + seconds * 1_000).toISOString()
const runOf = async (one: Subscriber, run_id: string) => (await one.ask('GET', `/v1/runs/${run_id}`)).body
const cancel = async (one: Subscriber, run_id: string) => (await one.ask('POST', `/v1/runs/${run_id}/cancel`)).body

describe('a run that is cancelled', () => {
  it('ends as cancelled when it was, if nothing of it is left, and stays so', async () => {
    const rfc = freshRfc()
    const one = await subscriber(rfc, ISSUED)
    const { run_id } = await one.run()
    expect(await runOf(one, run_id)).toMatchObject({ status: 'dispatched', outcome: null })
    later(60)
    const end = { status: 'cancelled', outcome: 'cancelled', error_class: null, completed_at: at(60), jobs: { total: 0 } }
    expect(await cancel(one, run_id)).toMatchObject({ withdrawn_jobs: 3, ...end })
    later(120)
    expect(await cancel(one, run_id)).toMatchObject({ withdrawn_jobs: 0, ...end })
    expect((await one.ask('GET', `/v1/extractors/${one.extractor_id}/runs`)).body.data).toMatchObject([{ run_id, status: 'cancelled' }])
    expect((await one.ask('GET', `${one.path}/runs`)).body.data).toMatchObject([{ run_id, ...end }])
  })

  it('ends as its downloads do when any are left, and stays as it is when it had ended before', async () => {
    const rfc = freshRfc()
    const [one, other] = [await subscriber(rfc, cfdiOf(1)), await subscriber(rfc, ISSUED)]
    const { run_id } = await one.run()
    const { run_id: theirs } = await other.run()
    expect(await cancel(one, run_id)).toMatchObject({ status: 'cancelled', outcome: null, withdrawn_jobs: 2, completed_at: null })
    await work(rfc)
    expect(await runOf(one, run_id)).toMatchObject({ status: 'cancelled', outcome: 'succeeded', jobs: { succeeded: 3, total: 3 } })
    expect(await cancel(other, theirs)).toMatchObject({ status: 'dispatched', outcome: 'succeeded', withdrawn_jobs: 0 })
  })
})

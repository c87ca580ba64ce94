import { measure, median } from '../measures.ts'
import { BUSY, connect, QUIET, rfcOf, signUp, subscribe } from '../platform/customer.ts'
import { World } from '../platform/world.ts'
import { sized } from '../sizes.ts'

const SINGLE = sized(7, 1)
const LOGIN = sized(BUSY, QUIET)
/** Of the default extractors: 36 months from two sources, and seven sources of documents. */
const JOBS = 79

interface Notified {
  event: string
  rfc: string
  occurred_at: string
}

/** From the commit of an RFC's jobs to their receiver, in milliseconds. */
async function delays(world: World, authorization: string, rfc: string, jobs: number): Promise<number[]> {
  const taken: number[] = []
  world.queues.received = (body) => {
    const { event, rfc: of, occurred_at } = body as Notified
    if (event === 'sync.completed' && of === rfc) taken.push(Date.now() - Date.parse(occurred_at))
  }
  await world.live(
    async () => void (await connect(world, authorization, rfc, LOGIN)),
    () => taken.length >= jobs,
  )
  if (taken.length !== jobs) throw new Error(`${rfc} had ${taken.length} jobs, not ${jobs}.`)
  return taken
}

/** The sources that a connection's first downloads have, besides the mandatory one. */
async function wanting(world: World, authorization: string, data_source_keys: readonly string[]): Promise<void> {
  const extractors = await world.ask<{ extractor_id: string }[]>('GET', '/v1/extractors', authorization)
  for (const { extractor_id } of extractors) await world.ask('PATCH', `/v1/extractors/${extractor_id}`, authorization, { data_source_keys })
}

export const relayDelay = measure({
  figures: {
    'relay.first_connection_ratio': {
      isRatioOfTimes: true,
      atMost: 5,
      digits: 2,
      meaning: `Median time from the commit of a job to the receiver of its event, in a first connection of ${JOBS} jobs, to that of a job alone`,
    },
  },
  take: () =>
    World.with(null, async (world) => {
      const authorization = await signUp(world)
      await subscribe(world, authorization)
      const extractors = await world.ask<{ data_source_keys: string[] }[]>('GET', '/v1/extractors', authorization)
      await wanting(world, authorization, ['sat_miinformacion'])
      const alone: number[] = []
      // The first one finds nothing compiled.
      for (let n = 0; n <= SINGLE; n++) {
        const [one] = await delays(world, authorization, rfcOf(n), 1)
        if (n > 0) alone.push(one!)
      }
      await wanting(world, authorization, extractors[0]!.data_source_keys)
      const many = await delays(world, authorization, rfcOf(SINGLE + 1), JOBS)
      if (process.env['BENCH_VERBOSE']) console.error(`  alone ${median(alone)} ms (${alone}); of ${JOBS} ${median(many)} ms (${many})`)
      return { 'relay.first_connection_ratio': median(many) / median(alone) }
    }),
})

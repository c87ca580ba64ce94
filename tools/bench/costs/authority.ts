import { makeEfirma } from '../../stand-in/certificates.ts'
import type { Entry } from '../../stand-in/log.ts'
import { newAuthority } from '../../stand-in/stand-in.ts'
import { generate } from '../../stand-in/truth/generate.ts'
import { measure } from '../measures.ts'
import { signUp } from '../platform/customer.ts'
import { DAY_MS } from '../platform/days.ts'
import { World } from '../platform/world.ts'

const RFC = 'EKU9003173C9'
const START = '2026-11-20T18:00:00Z'
/** The next midnight in Mexico City, of the daily extractor. */
const MIDNIGHT = '2026-11-21T06:00:00Z'
/** The month of the start is the last one, and has no documents yet: what is younger than seven days is asked for, and brought, again. */
const FIRST_MONTH = '2023-12'
const MONTHS = 36
const FAMILIES = ['cfdi', 'retenciones'] as const

const WHAT = 'of one RFC, in the family (CFDIs or retenciones) with more of them, when packages are ready at the first check'

const isForDocuments = ({ operation }: Entry): boolean => operation?.startsWith('Solicita') === true
/** How many requests were made in the family with more of them. */
const mostOf = (entries: readonly Entry[], isCounted: (entry: Entry) => boolean = () => true): number =>
  Math.max(...FAMILIES.map((family) => entries.filter((entry) => entry.family === family && isCounted(entry)).length))

/** An RFC is connected with an e.firma and downloaded from the stand-in of the authority, and a day later, and once more when that takes its time. */
export const authority = measure({
  figures: {
    'sat.requests_for_documents.first': { atMost: 4, meaning: `SolicitaDescarga for the first download of ${MONTHS} months ${WHAT}` },
    'sat.requests.first': { atMost: 13, meaning: 'All requests to the authority for it, the login included' },
    'sat.requests_for_documents.day': {
      atMost: 2,
      meaning: 'SolicitaDescarga on a day when nothing is younger than a week, in the same family',
    },
    'sat.requests.day': { atMost: 5, meaning: 'All requests to the authority on that day' },
    'sat.rows_written.check': {
      atMost: 2,
      digits: 1,
      meaning: 'Rows that D1 writes for a check that finds all requests of an RFC still waiting',
    },
  },
  take: () =>
    World.with(
      START,
      async (world) => {
        const truth = generate({ rfc: RFC, from: FIRST_MONTH, months: MONTHS - 1 })
        const standIn = newAuthority({ truth, now: () => new Date(world.now()) })
        world.queues.authority = standIn
        const authorization = await signUp(world)
        const { certificate, private_key, password } = makeEfirma(RFC)
        await world.ask('POST', '/v1/fiscal-entities', authorization, { rfc: RFC, efirma: { certificate, private_key, password } })
        const since = async (work: () => Promise<void>): Promise<Entry[]> => {
          const before = standIn.log.entries.length
          await work()
          return standIn.log.entries.slice(before)
        }
        const extractors = await world.ask<{ extractor_id: string; trigger_kind: string }[]>('GET', '/v1/extractors', authorization)
        const { extractor_id } = extractors.find(({ trigger_kind }) => trigger_kind === 'schedule')!
        const run = async (): Promise<void> => {
          await world.ask('POST', `/v1/extractors/${extractor_id}/run`, authorization)
          await world.settle()
        }
        const first = await since(() => world.settle())
        const stored = Number((await world.query('ledger', 'select count(*) from cfdi')).rows[0]![0])
        const announced = truth.documents.filter(({ stamped }) => stamped <= START).length
        if (stored < announced) throw new Error(`Of ${announced} documents ${stored} are held.`)
        const day = await since(() => world.cron('*/15 * * * *', Date.parse(MIDNIGHT)))
        standIn.behaviour.checks = 1_000
        await world.at(Date.parse(START) + 2 * DAY_MS)
        await run()
        await world.spent()
        const checks = await since(() => world.settle())
        const { spent } = await world.spent()
        const asked = checks.flatMap(({ parameters }) => parameters['IdSolicitud'] ?? [])
        // The clock of the service is moved on past its waits; what is asked twice is wrong all the same.
        const again = standIn.log.violations.filter((one) => one.startsWith('Asked again'))
        if (again.length > 0) throw new Error(again.join('\n'))
        return {
          'sat.requests_for_documents.first': mostOf(first, isForDocuments),
          'sat.requests.first': mostOf(first),
          'sat.requests_for_documents.day': mostOf(day, isForDocuments),
          'sat.requests.day': mostOf(day),
          'sat.rows_written.check': spent.billed['D1 rows written'] / (asked.length / new Set(asked).size),
        }
      },
      { TAX_AUTHORITY: 'sat' },
    ),
})

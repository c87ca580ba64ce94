import { afterEach, expect, it } from 'vitest'
import type { Step } from '../../../tools/stand-in/script.ts'
import { restore } from '../../support/clock.ts'
import { freshRfc } from '../../support/tenants.ts'
import { cfdiOf, jobsOf, losingMessages } from '../support/downloads.ts'
import { asWithAuthority, SatWorld } from './support/sat-world.ts'

afterEach(restore)

const VERIFICA = 'VerificaSolicitudDescarga'
const PREPARING = { code: '5000', state: '2', stateCode: '5000' }
/** The first lists take longer than a day, with which the authority is not done then; so do the XML files, for which the downloads wait. */
const slowly = (answer: Step['answer']): Step[] => [
  { operation: VERIFICA, kind: 'Metadata', times: 60, answer: PREPARING },
  { operation: VERIFICA, kind: 'Metadata', times: 2, answer },
  { operation: VERIFICA, kind: 'CFDI', times: 900, answer: PREPARING },
]

/** What breaks without it: the authority refuses a period that begins a day too early, and years that it gives are missing. */
it.each<[string, Step['answer']]>([
  ['fails with them', { code: '5000', state: '4', stateCode: '5000' }],
  ['has too many documents for them', { code: '5003', state: '5', stateCode: '5003' }],
])('requests for all six years, when the authority %s a day later, begin where it gives documents then', async (_, answer) => {
  const world = new SatWorld(freshRfc(), { from: '2020-05', months: 3 }, {}, slowly(answer))
  asWithAuthority(world)
  losingMessages()
  const one = await world.subscriber(cfdiOf(1, { scope: 'full_history', scope_months: null, data_source_keys: ['sat_cfdi_issued'] }))
  await one.run()
  await world.call()
  await world.work()
  expect([...new Set((await jobsOf(world.rfc)).map(({ status }) => status))]).toEqual(['succeeded'])
  expect((await world.requests()).filter(({ code }) => code === '301')).toEqual([])
  const firsts = (await world.requests()).filter(({ kind }) => kind === 'metadata').map(({ first }) => String(first))
  expect(new Set(firsts.filter((first) => first < '2020-06'))).toEqual(new Set(['2020-05-20T00:00:00', '2020-05-21T00:00:00']))
  const missing = (await world.differences()).filter((line) => line.startsWith('sat_cfdi_issued'))
  const gone = world.truth.documents.filter(({ fecha }) => fecha < '2020-05-21').map(({ uuid }) => uuid)
  expect(missing.filter((line) => !gone.some((uuid) => line.includes(uuid)))).toEqual([])
  const { data } = (await one.ask('GET', `${one.path}/coverage?source=sat_cfdi_issued&from=2020-06&to=2020-08&limit=100`)).body
  expect(data.map(({ status }: { status: string }) => status)).toEqual(['complete', 'complete', 'complete'])
})

import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Behaviour } from '../../../tools/stand-in/requests.ts'
import type { FalseAnswer, Step } from '../../../tools/stand-in/script.ts'
import type { Wanted } from '../../../tools/stand-in/truth/generate.ts'
import { restore } from '../../support/clock.ts'
import { runs } from '../../support/fuzz.ts'
import { costOf } from '../../support/meter.ts'
import { freshRfc } from '../../support/tenants.ts'
import { efirmaOf, numberOf } from '../../taxpayers/support/efirmas.ts'
import { bookOf, callOf, cfdiOf, ISSUED, jobsOf, losingMessages } from '../support/downloads.ts'
import { asWithAuthority, SatWorld } from './support/sat-world.ts'

afterEach(restore)

const SOLICITA = ['SolicitaDescargaEmitidos', 'SolicitaDescargaRecibidos'] as const
const VERIFICA = 'VerificaSolicitudDescarga'

/** A taxpayer whose months an organization asks for; nothing has been done yet. */
async function asked(wanted: Partial<Wanted> = {}, behaviour: Partial<Behaviour> = {}, steps: readonly Step[] = [], extractor = cfdiOf(3)) {
  const world = new SatWorld(freshRfc(), wanted, behaviour, steps)
  asWithAuthority(world)
  losingMessages()
  const one = await world.subscriber(extractor)
  await one.run()
  await world.call()
  return { world, one }
}

const statusesOf = async (world: SatWorld): Promise<string[]> => [...new Set((await jobsOf(world.rfc)).map(({ status }) => status))]
const countOf = (counts: Record<string, number>): number => Object.values(counts).reduce((sum, n) => sum + n, 0)
const solicitaOf = ({ SolicitaDescargaEmitidos: issued = 0, SolicitaDescargaRecibidos: received = 0 }: Record<string, number>): number =>
  issued + received

/** Everything is held, every job has succeeded, and nothing was asked that the authority may not be asked. */
async function expectWhole(world: SatWorld): Promise<void> {
  expect(await statusesOf(world)).toEqual(['succeeded'])
  expect((await jobsOf(world.rfc)).filter(({ rejected_count }) => rejected_count > 0)).toEqual([])
  expect(await world.differences()).toEqual([])
  expect(world.authority.log.violations).toEqual([])
}

describe('the first download from the authority', () => {
  it('holds what the authority holds, with four requests for documents and thirteen requests in all for each family', async () => {
    const { world } = await asked({ months: 2 })
    await world.work()
    await expectWhole(world)
    for (const family of ['cfdi', 'retenciones'] as const) {
      expect(solicitaOf(world.asked(family))).toBe(4)
      expect(countOf(world.asked(family))).toBe(13)
    }
    // The packages are gone, and the conversation waits for nothing.
    expect((await env.FILES.list({ prefix: `authority/${(await callOf(world.rfc)).entity}/` })).objects).toEqual([])
    expect(await world.conversation()).toMatchObject({ due_at: null, token: null })
  })

  it('ends each month by itself, with its event, and leaves the jobs asleep meanwhile', async () => {
    const { world, one } = await asked({ months: 2 })
    await world.work(30_000)
    const jobs = await jobsOf(world.rfc)
    expect(jobs).toHaveLength(8)
    for (const { status, attempts, error_class } of jobs)
      expect({ status, attempts, error_class }).toEqual({ status: 'queued', attempts: 0, error_class: null })
    for (const { next_attempt_at } of await one.jobs()) expect(next_attempt_at).not.toBeNull()
    await world.work()
    expect((await one.sync()).jobs).toMatchObject({ succeeded: 8, total: 8 })
  })

  it.each<[what: string, steps: Step[], notified: object]>([
    [
      'prepares them',
      [],
      { error_class: null, attempts: 0, summary: expect.stringContaining('The tax authority is preparing 8 downloads.') },
    ],
    [
      'does not answer a request',
      [{ operation: SOLICITA, times: 99, answer: { page: true } }],
      { error_class: 'sat_unavailable', summary: expect.stringContaining('failed: the tax authority was not available.') },
    ],
    [
      'does not answer a check',
      [{ operation: VERIFICA, times: 99, answer: { closed: true } }],
      { error_class: 'sat_unavailable', summary: expect.stringContaining('failed: the tax authority was not available.') },
    ],
  ])('says of months that wait when the authority is asked again, and whether it answered last, when it %s', async (_, steps, notified) => {
    const { world, one } = await asked({ months: 2 }, { checks: 4 }, steps)
    await world.work(150_000)
    const sync = await one.sync()
    expect(sync).toMatchObject({ state: 'waiting', ...notified })
    if (steps.length > 0) expect(sync.attempts).toBeGreaterThan(0)
    const next = (await one.ask('GET', `${one.path}/coverage`)).body.data.flatMap(
      (row: Record<string, string>) => row['next_check_at'] ?? [],
    )
    expect(sync.next_attempt_at).toBe(next.toSorted()[0])
    world.authority.script.steps.splice(0)
    await world.work()
    expect(await one.sync()).toMatchObject({ state: 'idle', error_class: null })
  })

  it.each<[what: string, behaviour: Partial<Behaviour>]>([
    ['many packages', { packageSize: 2 }],
    ['doubled and reordered documents in many packages', { packageSize: 3, quirks: ['duplicated', 'reordered'] }],
    ['odd names, empty files and metadata with a byte order mark', { quirks: ['names', 'bom'] }],
    [
      'all of that, and requests that are done only at the fourth check',
      { packageSize: 2, quirks: ['duplicated', 'reordered', 'names', 'bom'], checks: 3 },
    ],
    ['metadata whose columns come in another order, beside files that are none', { packageSize: 4, quirks: ['columns', 'beside'] }],
    ['limits that halve requests again and again', { limits: { CFDI: 5, Metadata: 7 } }],
    ['tokens that end within seconds', { tokenLifeMs: 4_000 }],
  ])('of %s', async (_, behaviour) => {
    const { world } = await asked({ months: 2 }, behaviour)
    await world.work()
    await expectWhole(world)
  })
})

const SAID: readonly (readonly [what: string, steps: readonly Step[]])[] = [
  [
    '300, that a token has ended',
    [
      { operation: SOLICITA, times: 2, answer: { code: '300' } },
      { operation: VERIFICA, answer: { code: '300' } },
      { operation: 'Descargar', answer: { code: '300' } },
    ],
  ],
  ['404 to requests', [{ operation: SOLICITA, times: 3, answer: { code: '404' } }]],
  ['404 to checks', [{ operation: VERIFICA, times: 3, answer: { code: '404' } }]],
  ['404 to packages', [{ operation: 'Descargar', times: 3, answer: { code: '404' } }]],
  ['5002, that the period is used up', [{ operation: SOLICITA, times: 2, answer: { code: '5002' } }]],
  ['5002 again and again', [{ operation: 'SolicitaDescargaEmitidos', kind: 'Metadata', times: 6, answer: { code: '5002' } }]],
  ['5005, that an equal request is alive', [{ operation: SOLICITA, times: 2, answer: { code: '5005' } }]],
  [
    '5006',
    [
      { operation: SOLICITA, times: 2, answer: { code: '5006' } },
      { operation: VERIFICA, answer: { code: '5006' } },
    ],
  ],
  [
    '5003 to a request of either kind',
    (['CFDI', 'Metadata'] as const).map((kind) => ({ operation: SOLICITA, kind, answer: { code: '5003' } })),
  ],
  ['state 4, that a request has failed', [{ operation: VERIFICA, times: 3, answer: { code: '5000', state: '4', stateCode: '5000' } }]],
  ['state 5 with 5003', [{ operation: VERIFICA, times: 2, answer: { code: '5000', state: '5', stateCode: '5003' } }]],
  [
    'state 5 with 5005 and 5002',
    ['5005', '5002'].map((stateCode) => ({ operation: VERIFICA, answer: { code: '5000', state: '5', stateCode } })),
  ],
  ['state 5 without a reason', [{ operation: VERIFICA, times: 2, answer: { code: '5000', state: '5', stateCode: '5000' } }]],
  ['state 6, that a request is too old', [{ operation: VERIFICA, times: 2, answer: { code: '5000', state: '6', stateCode: '5000' } }]],
  ['that it does not know a request', [{ operation: VERIFICA, times: 2, answer: { code: '5004', state: '0', stateCode: '' } }]],
  ['5007, that a package is gone', [{ operation: 'Descargar', times: 2, answer: { code: '5007' } }]],
  ['5008, that a package was downloaded twice', [{ operation: 'Descargar', times: 2, answer: { code: '5008' } }]],
  ['5011, that no more single documents are delivered today', [{ operation: SOLICITA, times: 2, answer: { code: '5011' } }]],
  ['5012, that a single document is cancelled', [{ operation: SOLICITA, times: 2, answer: { code: '5012' } }]],
  ['a page', [{ times: 9, answer: { page: true } }]],
  [
    'a fault',
    [
      { operation: SOLICITA, times: 2, answer: { fault: 'InternalServiceFault' } },
      { operation: VERIFICA, answer: { fault: 'InternalServiceFault' } },
      { operation: 'Descargar', answer: { fault: 'InternalServiceFault' } },
    ],
  ],
  [
    'half of an answer',
    (['answer', 'connection'] as const).flatMap((truncated) =>
      (['Autentica', 'SolicitaDescargaEmitidos', VERIFICA, 'Descargar'] as const).map(
        (operation): Step => ({ operation, times: operation === 'Descargar' ? 2 : 1, answer: { truncated, isDone: true } }),
      ),
    ),
  ],
  [
    'nothing to what it does',
    [
      { operation: SOLICITA, times: 3, answer: { closed: true, isDone: true } },
      { operation: 'Descargar', answer: { closed: true, isDone: true } },
    ],
  ],
  ['nothing at all', [{ after: 3, times: 8, answer: { closed: true } }]],
  [
    'a code that nobody knows',
    [
      { operation: SOLICITA, times: 2, answer: { code: '5999' } },
      { operation: VERIFICA, answer: { code: '5999' } },
    ],
  ],
  [
    'what is right, with an error of HTTP',
    (['Autentica', 'SolicitaDescargaEmitidos', VERIFICA, 'Descargar'] as const).map(
      (operation): Step => ({ operation, times: 2, answer: { status: 500, isDone: true } }),
    ),
  ],
]
/** In the long run each by itself; otherwise some together. */
const TOGETHER = Array.from({ length: runs(2, SAID.length) }, (_, n): [string, Step[]] => {
  const some = SAID.filter((_one, i) => i % runs(2, SAID.length) === n)
  return [some.map(([what]) => what).join('; '), some.flatMap(([, steps]) => steps)]
})

describe('what the authority says instead', () => {
  it.each(TOGETHER)('is borne: %s', async (_, steps) => {
    const { world } = await asked({ months: 1, from: '2026-04' }, {}, steps, cfdiOf(1))
    await world.work()
    await expectWhole(world)
  })

  it.each<[answer: FalseAnswer, error_class: string]>([
    [{ code: '301' }, 'internal_error'],
    [{ code: '301', message: 'No se permite la descarga de xml que se encuentren cancelados' }, 'internal_error'],
    [{ code: '301', message: 'La solicitud no puede contener información mayor a 6 años de antigüedad' }, 'internal_error'],
    [{ code: '301', message: 'El atributo RfcReceptor es obligatorio' }, 'internal_error'],
    [{ code: '302' }, 'internal_error'],
    [{ code: '303' }, 'internal_error'],
    [{ code: '5001' }, 'login_failed'],
  ])('ends it: %o', async (answer, error_class) => {
    const { world, one } = await asked({ months: 1, from: '2026-04' }, {}, [{ operation: SOLICITA, times: 99, answer }], cfdiOf(1))
    await world.work()
    for (const job of await one.jobs()) expect(job).toMatchObject({ status: 'failed', error_class })
    // Once for each family and source.
    expect(solicitaOf(world.asked())).toBe(4)
    expect(world.authority.log.violations).toEqual([])
  })

  it('nothing to a login: the same period is asked for later, because it was not used', async () => {
    const closed: Step = { operation: 'Autentica', times: 4, answer: { closed: true } }
    const { world, one } = await asked({ months: 1, from: '2026-04' }, {}, [closed], cfdiOf(1))
    await world.work(20_000)
    expect(await one.sync()).toMatchObject({ state: 'waiting', error_class: 'sat_unavailable' })
    await world.work()
    await expectWhole(world)
    expect((await world.requests()).filter(({ state }) => state === 'replaced')).toEqual([])
    expect(world.asked()['Autentica']).toBe(6)
  })

  it('for seven days only "not yet": the jobs fail, and the next run asks anew', async () => {
    const { world, one } = await asked({ months: 1, from: '2026-04' }, { checks: 1_000 }, [], ISSUED)
    await world.work(9 * 86_400_000)
    for (const job of await one.jobs()) expect(job).toMatchObject({ status: 'failed', error_class: 'sat_unavailable' })
    // Of each request, for metadata and, hours later, for XML: six checks, and then one an hour.
    expect(world.asked()[VERIFICA]! / 4).toBeGreaterThan(165)
    expect(world.asked()[VERIFICA]! / 4).toBeLessThanOrEqual(174)
    world.authority.behaviour.checks = 0
    await one.run()
    await world.call()
    await world.work()
    expect((await world.differences()).filter((one) => one.startsWith('sat_cfdi_issued'))).toEqual([])
    expect(world.authority.log.violations).toEqual([])
  })
})

describe('a request that is still waiting', () => {
  it('costs two rows a check, however many are checked together', async () => {
    const { world } = await asked({ months: 1, from: '2026-04' }, { checks: 1_000 }, [], cfdiOf(1))
    await world.work(50_000)
    const written: number[] = []
    for (let n = 0; n < 8; n++) {
      const [next] = world.queue.sort((one, other) => one.at - other.at)
      world.queue.shift()
      world.pass(next!.at - world.now)
      const before = world.asked()[VERIFICA] ?? 0
      const { cost } = await costOf(env.LEDGER_0, env.FILES, () => world.deliver(next!.body))
      if ((world.asked()[VERIFICA] ?? 0) === before) continue
      expect(world.asked()[VERIFICA]! - before).toBe(4)
      written.push(cost.rows_written)
    }
    expect(written.length).toBeGreaterThan(5)
    expect(new Set(written)).toEqual(new Set([2]))
  })
})

describe('XML that does not come', () => {
  it('is asked for once more, and keeps its month from being complete until it comes', async () => {
    const withheld = new Set<string>()
    const { world, one } = await asked(
      { months: 1, from: '2026-04' },
      { withheld },
      [],
      cfdiOf(2, { data_source_keys: ['sat_cfdi_issued'] }),
    )
    const document = world.truth.documents.find(
      ({ emisor, type, cancelled }) => emisor.rfc === world.rfc && type === 'I' && cancelled === null,
    )!
    withheld.add(document.uuid)
    const statusOf = async () => {
      const { body } = await one.ask(
        'GET',
        `/v1/cfdi/summary/monthly?fiscal_entity_id=${one.fiscal_entity_id}&direction=issued&from=2026-04&to=2026-04`,
      )
      return body.data[0].data_status
    }
    const path = `/v1/fiscal-entities/${one.fiscal_entity_id}/coverage`
    const april = async () => (await one.ask('GET', `${path}?source=sat_cfdi_issued&from=2026-04&to=2026-04`)).body.data[0]
    const missingXml = async () => (await one.ask('GET', `${path}/sat_cfdi_issued/2026-04`)).body.data
    expect(await april()).toMatchObject({ status: 'requested', announced_count: 0, last_code: null, last_success_at: null })
    await world.work()
    expect(await statusesOf(world)).toEqual(['succeeded'])
    expect(await world.differences()).toContain(`sat_cfdi_issued 2026-04 ${document.uuid} has no XML.`)
    expect(await statusOf()).toBe('downloading')
    const partial = await april()
    expect(partial).toMatchObject({
      status: 'partial',
      metadata_only_count: 1,
      last_code:
        'xml_not_delivered_yet: The tax authority announces documents whose XML is not held. The next run asks for what it has not delivered.',
      next_check_at: null,
      last_success_at: null,
    })
    expect(partial.held_count).toBe(partial.announced_count - 1)
    expect(await missingXml()).toMatchObject([{ uuid: document.uuid, why: 'xml_not_delivered_yet', code: null }])
    const xml = (await world.requests()).filter(({ kind, family }) => kind === 'xml' && family === 'cfdi')
    expect(xml).toHaveLength(2)
    withheld.clear()
    world.pass(86_400_000)
    await one.run()
    await world.call()
    await world.work()
    expect((await world.differences()).filter((line) => line.startsWith('sat_cfdi_issued'))).toEqual([])
    expect(await statusOf()).toBe('complete')
    const complete = await april()
    expect(complete).toMatchObject({ status: 'complete', metadata_only_count: 0, announced_count: partial.announced_count })
    expect(Date.parse(complete.last_success_at)).toBeGreaterThan(Date.parse('2026-04-30'))
    expect(await missingXml()).toEqual([])
    expect(world.authority.log.violations).toEqual([])
  })
})

describe('an e.firma that the authority refuses', () => {
  it.each([
    ['304', SOLICITA],
    ['305', SOLICITA],
    ['304', VERIFICA],
    ['305', 'Descargar'],
  ] as const)('with %s to %s, ends the connection', async (code, operation) => {
    const { world, one } = await asked({ months: 1, from: '2026-04' }, {}, [{ operation, answer: { code } }], ISSUED)
    await world.work()
    expect(await one.entity()).toMatchObject({ status: 'invalid_ciec' })
    for (const job of await one.jobs()) expect(job).toMatchObject({ status: 'waiting', error_class: 'invalid_credentials' })
    expect(world.authority.log.violations).toEqual([])
  })

  it('ends the connection, whatever was under way; another one goes on with what was asked for', async () => {
    const { world, one } = await asked({ months: 1, from: '2026-04' }, { checks: 2 }, [], ISSUED)
    await world.work(30_000)
    const before = solicitaOf(world.asked())
    expect(before).toBe(2)
    world.authority.revoke(numberOf('0001'))
    await world.work()
    expect(await one.entity()).toMatchObject({ status: 'invalid_ciec' })
    for (const job of await one.jobs()) expect(job).toMatchObject({ status: 'waiting', error_class: 'invalid_credentials' })
    const entries = world.authority.log.entries.length
    world.pass(2 * 86_400_000)
    await world.work(3_600_000)
    // Nothing is asked with it any more.
    expect(world.authority.log.entries.slice(entries).filter(({ operation }) => operation !== 'Autentica')).toEqual([])
    const { status } = await one.ask('PATCH', one.path, { efirma: efirmaOf(world.rfc, { number: numberOf('0002') }) })
    expect(status).toBe(200)
    await world.call()
    await world.work()
    expect((await jobsOf(world.rfc)).filter((job) => job.status === 'succeeded')).toHaveLength(2)
    expect((await world.differences()).filter((line) => line.startsWith('sat_cfdi_issued'))).toEqual([])
    expect(world.authority.log.violations).toEqual([])
  })
})

/** What breaks without it: what a customer's first run asked for stays missing for ever, because the next runs reach back less far. */
it('the first run after a refused e.firma asks for all that the refused run asked for, and its months become complete', async () => {
  const refused: Step = { operation: VERIFICA, answer: { code: '304' } }
  const { world, one } = await asked({ months: 3 }, {}, [refused], cfdiOf(3, { data_source_keys: ['sat_cfdi_issued'] }))
  await world.work()
  expect(await one.entity()).toMatchObject({ status: 'invalid_ciec' })
  // Runs of the next weeks ask for one month.
  expect((await one.ask('PATCH', `/v1/extractors/${one.extractor_id}`, { scope_months: 1 })).status).toBe(200)
  world.pass(40 * 86_400_000)
  expect((await one.ask('PATCH', one.path, { efirma: efirmaOf(world.rfc, { number: numberOf('0002') }) })).status).toBe(200)
  await world.call()
  await world.work()
  const statuses = async () =>
    (await one.ask('GET', `${one.path}/coverage`)).body.data.map((row: Record<string, string>) => [row['month'], row['status']])
  const whole = ['2026-07', '2026-06', '2026-05', '2026-04', '2026-03', '2026-02'].map((month) => [month, 'complete'])
  expect(await statuses()).toEqual(whole)
  expect((await world.differences()).filter((line) => line.startsWith('sat_cfdi_issued'))).toEqual([])
  // It is made up for once.
  const count = (await one.jobs()).length
  world.pass(86_400_000)
  await one.run()
  expect((await one.jobs()).length).toBeLessThanOrEqual(count + 2)
})

/** What breaks without it: while one family's hosts are down, for a week, nothing of the other one is there to be read. */
describe('a family that the authority does not answer for', () => {
  it('keeps no document of the other one away; the months stay requested until it answers', async () => {
    const counts = { issued: 6, received: 4, payroll: 0, retenciones: 3 }
    const down: Step = { family: 'retenciones', times: 9_999, answer: { page: true } }
    const { world, one } = await asked({ months: 1, from: '2026-04', counts }, {}, [down], cfdiOf(2))
    const ofFamily = (family: 'cfdi' | 'retenciones') =>
      world.truth.documents.filter((one) => (one.type === '') === (family === 'retenciones'))
    await world.work(4 * 3_600_000)
    expect(await statusesOf(world)).toEqual(['queued'])
    const missing = await world.differences()
    expect(missing.length).toBeGreaterThan(0)
    for (const { uuid } of ofFamily('cfdi')) expect(missing.filter((line) => line.includes(uuid))).toEqual([])
    const coverage = `/v1/fiscal-entities/${one.fiscal_entity_id}/coverage?source=sat_cfdi_issued&from=2026-04&to=2026-04`
    const april = async () => (await one.ask('GET', coverage)).body.data[0]
    const during = await april()
    expect(during).toMatchObject({ status: 'requested', last_success_at: null })
    expect(during.held_count).toBeGreaterThan(0)
    expect(during.held_count).toBe(during.announced_count)
    const rows = async () => (await bookOf(world.rfc, ['cfdi_commits']))['cfdi_commits']!.length
    const before = await rows()
    await world.work(6 * 3_600_000)
    // It is taken in once.
    expect(await rows()).toBe(before)
    world.authority.script.steps.splice(0)
    await world.work()
    await expectWhole(world)
    expect(await april()).toMatchObject({ status: 'complete' })
    const packages = world.authority.log.of('Descargar').map(({ parameters }) => parameters['IdPaquete'])
    expect(new Set(packages).size).toBe(packages.length)
  })
})

/** What breaks without it: while the authority does not deliver XML, for days, nobody sees the documents that it has announced. */
it('documents whose XML takes long are there without it, and get it when it comes', async () => {
  const counts = { issued: 6, received: 4, payroll: 0, retenciones: 2 }
  const late: Step = { operation: SOLICITA, kind: 'CFDI', times: 9_999, answer: { page: true } }
  const { world, one } = await asked(
    { months: 1, from: '2026-04', counts },
    {},
    [late],
    cfdiOf(2, { data_source_keys: ['sat_cfdi_issued'] }),
  )
  const listed = async () => (await one.page('&direction=issued')).body.data as { uuid: string; has_xml: boolean }[]
  await world.work(20 * 60_000)
  expect(await listed()).toEqual([])
  await world.work(3_600_000)
  const issued = [...world.truth.announced(world.rfc, 'sat_cfdi_issued', '2026-04', new Date(world.now))].sort()
  const without = await listed()
  expect(without.map(({ uuid }) => uuid).sort()).toEqual(issued)
  expect(new Set(without.map(({ has_xml }) => has_xml))).toEqual(new Set([false]))
  const coverage = `${one.path}/coverage?source=sat_cfdi_issued&from=2026-04&to=2026-04`
  const april = async () => (await one.ask('GET', coverage)).body.data[0]
  expect(await april()).toMatchObject({ status: 'requested', announced_count: issued.length, with_xml_count: 0, last_success_at: null })
  const commits = async () => (await bookOf(world.rfc, ['cfdi_commits']))['cfdi_commits']!.length
  const before = await commits()
  await world.work(6 * 3_600_000)
  // They are taken in once.
  expect(await commits()).toBe(before)
  world.authority.script.steps.splice(0)
  await world.work()
  expect(await statusesOf(world)).toEqual(['succeeded'])
  expect((await world.differences()).filter((line) => line.startsWith('sat_cfdi_issued'))).toEqual([])
  expect(new Set((await listed()).map(({ has_xml }) => has_xml))).toEqual(new Set([true]))
  expect(await april()).toMatchObject({ status: 'complete', announced_count: issued.length, with_xml_count: issued.length })
})

/** What breaks without it: what the authority has of one family is lost when it refuses to answer for the other one. */
it('a family that the authority refuses to answer for fails the job, after what there is of the other one is held', async () => {
  const counts = { issued: 6, received: 0, payroll: 0, retenciones: 3 }
  const refused: Step = { operation: SOLICITA, family: 'retenciones', times: 99, answer: { code: '301' } }
  const { world, one } = await asked({ months: 1, from: '2026-04', counts }, {}, [refused], ISSUED)
  await world.work()
  for (const job of await one.jobs()) expect(job).toMatchObject({ status: 'failed', error_class: 'internal_error' })
  const cfdi = world.truth.documents.filter(({ type }) => type !== '').map(({ uuid }) => uuid)
  expect((await world.differences()).filter((line) => cfdi.some((uuid) => line.includes(uuid)))).toEqual([])
})

/** What breaks without it: the month of today is called complete up to a run whose last days nobody asked for. */
describe('a run that joins what the authority was asked long before', () => {
  it('does not make its month complete up to its own instant; the next one does', async () => {
    const counts = { issued: 90, received: 0, payroll: 0, retenciones: 30 }
    const { world, one } = await asked({ months: 1, from: '2026-05', counts }, { checks: 1_000 }, [], ISSUED)
    await world.work(3_600_000)
    world.pass(2 * 86_400_000)
    await one.run()
    await world.call()
    const at = new Date(world.now)
    world.authority.behaviour.checks = 0
    await world.work(8 * 3_600_000)
    expect(await statusesOf(world)).toEqual(['succeeded'])
    const may = async () => (await one.ask('GET', `${one.path}/coverage?source=sat_cfdi_issued&from=2026-05&to=2026-05`)).body.data[0]
    const announced = world.truth.announced(world.rfc, 'sat_cfdi_issued', '2026-05', at)
    const first = await may()
    expect(first.announced_count).toBeLessThan(announced.size)
    expect(first.status).toBe('partial')
    await one.run()
    await world.call()
    await world.work(8 * 3_600_000)
    expect((await may()).status).toBe('complete')
    expect((await world.differences()).filter((line) => line.startsWith('sat_cfdi_issued'))).toEqual([])
    expect(world.authority.log.violations).toEqual([])
  })
})

/** What breaks without it: documents of the days without an e.firma are in no answer, and the month is called complete up to its return. */
describe('a request that is sent later than it was planned', () => {
  it('asks up to the minute before it is sent', async () => {
    const counts = { issued: 90, received: 0, payroll: 0, retenciones: 30 }
    const refused: Step = { operation: SOLICITA, kind: 'Metadata', answer: { code: '304' } }
    const { world, one } = await asked({ months: 1, from: '2026-05', counts }, {}, [refused], ISSUED)
    const before = world.now
    await world.work(3_600_000)
    expect(await one.entity()).toMatchObject({ status: 'invalid_ciec' })
    world.pass(5 * 86_400_000)
    const since = new Date(before - 6 * 3_600_000).toISOString()
    const now = new Date(world.now - 6 * 3_600_000).toISOString()
    expect(world.truth.documents.filter(({ fecha, stamped }) => fecha > since && stamped < now).length).toBeGreaterThan(5)
    expect((await one.ask('PATCH', one.path, { efirma: efirmaOf(world.rfc, { number: numberOf('0002') }) })).status).toBe(200)
    await world.call()
    await world.work(3_600_000)
    expect((await world.differences()).filter((line) => line.startsWith('sat_cfdi_issued'))).toEqual([])
    const ends = world.authority.log
      .of(...SOLICITA)
      .filter(({ parameters, answer }) => answer === '5000' && parameters['TipoSolicitud'] === 'Metadata')
    for (const { at: sent, parameters } of ends)
      expect(sent - 60_000 - Date.parse(`${parameters['FechaFinal']}-06:00`)).toBeLessThan(10_000)
    expect(world.authority.log.violations).toEqual([])
  })
})

describe.runIf(runs(0, 1) === 1)('thirty-six months', () => {
  it('come whole with every code and every oddity, in four requests for documents of each family without them', {
    timeout: 900_000,
  }, async () => {
    const plain = await asked({ months: 36, from: '2023-06' }, {}, [], cfdiOf(36))
    await plain.world.work()
    await expectWhole(plain.world)
    for (const family of ['cfdi', 'retenciones'] as const) {
      expect(solicitaOf(plain.world.asked(family))).toBe(4)
      expect(countOf(plain.world.asked(family))).toBeLessThanOrEqual(13)
    }
    vi.restoreAllMocks()
    const exactRow: Partial<Behaviour> = {
      packageSize: 40,
      quirks: ['duplicated', 'reordered', 'names', 'bom'],
      checks: 2,
      limits: { CFDI: 150, Metadata: 300 },
    }
    const { world } = await asked(
      { months: 36, from: '2023-06' },
      exactRow,
      SAID.flatMap(([, steps]) => steps),
      cfdiOf(36),
    )
    await world.work()
    await expectWhole(world)
  })
})

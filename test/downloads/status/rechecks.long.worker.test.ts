import { createExecutionContext } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { app } from '../../../src/app/app.ts'
import { runTask } from '../../../src/app/tasks.ts'
import { ingestMetadata } from '../../../src/cfdi/ingest/ingest.ts'
import type { ListedRow } from '../../../src/cfdi/package/package.ts'
import { statusAnswer } from '../../authority/support/sat-answers.ts'
import { basic } from '../../support/client.ts'
import { at, restore } from '../../support/clock.ts'
import { costOf } from '../../support/meter.ts'
import { silenceQueues } from '../../support/queues.ts'
import { checkedIn, eventsOf, type Holder, holder, type Notified, rechecksIn, settled, systemNow } from './support/status.ts'

const NOW = '2026-03-20T18:00:00Z'
const FOUND = 'S - Comprobante obtenido satisfactoriamente.'

let sent: unknown[]
beforeEach(async () => {
  at(NOW)
  sent = silenceQueues()
  await env.LEDGER_0.prepare('delete from status_rechecks').run()
})
afterEach(restore)

const sweep = () => runTask(systemNow(), { task: 'sweepRechecks', at: Date.now(), cursor: '' })
/** What happens at this time: the sweep, and what it announces. */
const happen = async (when: string, through: Env = env) => {
  at(when)
  await sweep()
  return settled(sent, through)
}

/** The service with the real authority, which answers so. Counts the requests. */
function authority(answer: (n: number) => Response | Promise<Response>) {
  let asked = 0
  const EGRESS = { fetch: async () => answer(++asked) }
  return { through: { ...env, TAX_AUTHORITY: 'sat', EGRESS } as unknown as Env, count: () => asked }
}
const says = (Estado: string, EstatusCancelacion = '', CodigoEstatus = FOUND) =>
  authority(() => new Response(statusAnswer({ CodigoEstatus, Estado, EstatusCancelacion })))

const oldest = async (of: Holder): Promise<Notified> => (await of.list('&estatus=vigente&kind=cfdi')).at(-1)!

/** A document with a cancellation in process, which is asked about again. */
async function inProcess(of: Holder): Promise<string> {
  const { uuid } = await oldest(of)
  await of.cancel(uuid, '2026-03-22T18:00:00Z')
  expect((await of.check(uuid)).body.estatus_cancelacion).toBe('en_proceso')
  return uuid
}

describe('a cancellation in process', () => {
  it('is asked about again every day, until it is cancelled, which is told', async () => {
    const of = await holder(1)
    const uuid = await inProcess(of)
    expect(await happen('2026-03-21T09:59:00Z')).toBe(0)
    expect(await happen('2026-03-21T10:00:00Z')).toBe(1)
    expect(checkedIn(await of.get(uuid))).toMatchObject({
      estatus_cancelacion: 'en_proceso',
      status_checked_at: '2026-03-21T10:00:00.000Z',
    })
    expect(await happen('2026-03-21T10:15:00Z')).toBe(0)
    expect(await happen('2026-03-22T10:00:00Z')).toBe(1)
    expect(await eventsOf(of)).toEqual([])
    expect(await happen('2026-03-23T10:00:00Z')).toBe(1)
    expect(await of.get(uuid)).toMatchObject({
      estatus: 'cancelado',
      status_answer: 'cancelado',
      status_checked_at: '2026-03-23T10:00:00.000Z',
    })
    expect((await eventsOf(of)).filter(({ event }) => event === 'cfdi.cancelled').map(({ cfdi_uuid }) => cfdi_uuid)).toEqual([uuid])
    expect(await rechecksIn(of.entity)).toEqual([])
    expect(await happen('2026-03-24T10:00:00Z')).toBe(0)
  })

  it('that metadata decides first is asked about no more', async () => {
    const of = await holder(1)
    const uuid = await inProcess(of)
    at('2026-03-22T19:00:00Z')
    await of.download()
    const { through, count } = says('Vigente')
    expect([await happen('2026-03-23T10:00:00Z', through), count(), await rechecksIn(of.entity)]).toEqual([1, 0, []])
    expect(await of.get(uuid)).toMatchObject({ estatus: 'cancelado', estatus_cancelacion: 'en_proceso' })
  })

  it.each([
    ['no answer in SOAP', () => new Response('<!DOCTYPE html><html></html>', { status: 503 })],
    [
      'a whole answer with an error of HTTP',
      () => new Response(statusAnswer({ CodigoEstatus: FOUND, Estado: 'Cancelado' }), { status: 500 }),
    ],
    ['no answer at all', () => Promise.reject(new Error('unreachable'))],
    ['an answer that ends too early', () => new Response(statusAnswer({ CodigoEstatus: FOUND, Estado: 'Cancelado' }).slice(0, -40))],
  ])('stays as it is after %s, and is tried again within the hour', async (_, answer) => {
    const of = await holder(1)
    const uuid = await inProcess(of)
    const before = await of.get(uuid)
    const { through, count } = authority(answer)
    const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
    for (const when of ['2026-03-21T10:00:00Z', '2026-03-21T10:15:00Z']) expect(await happen(when, through)).toBe(1)
    expect(count()).toBe(2)
    expect(JSON.stringify(logged.mock.calls)).not.toContain(of.rfc)
    expect([await of.get(uuid), await eventsOf(of)]).toEqual([before, []])
    expect(await happen('2026-03-21T10:30:00Z')).toBe(1)
    expect(await of.get(uuid)).toMatchObject({ status_checked_at: '2026-03-21T10:30:00.000Z' })
  })

  it('stays as it is after an answer that says nothing, and is asked about the next day', async () => {
    const of = await holder(1)
    const uuid = await inProcess(of)
    const before = await of.get(uuid)
    const { through } = says('Vigente', '', 'N - 601: La expresión impresa proporcionada no es válida.')
    expect(await happen('2026-03-21T10:00:00Z', through)).toBe(1)
    expect(await of.get(uuid)).toEqual(before)
    expect(await rechecksIn(of.entity)).toMatchObject([{ due_at: Date.parse('2026-03-22T10:00:00Z') }])
  })

  it.each(['Solicitud rechazada', ''])('that ends with %j is no doubt any more', async (estatus) => {
    const of = await holder(1)
    const uuid = await inProcess(of)
    const { through } = says('Vigente', estatus)
    await happen('2026-03-21T10:00:00Z', through)
    expect(await of.get(uuid)).toMatchObject({ estatus: 'vigente', estatus_cancelacion: estatus === '' ? null : 'rechazada' })
    expect([await rechecksIn(of.entity), await eventsOf(of)]).toEqual([[], []])
  })

  it('is asked about for thirty days', async () => {
    const of = await holder(1)
    await inProcess(of)
    const { through, count } = says('Vigente', 'En proceso')
    for (let day = 1; day <= 40; day++) await happen(new Date(Date.parse('2026-03-20T10:00:00Z') + day * 86_400_000).toISOString(), through)
    expect([count(), await rechecksIn(of.entity)]).toEqual([30, []])
  })

  it('changes the check of those whose own answer left the doubt, and of nobody else', async () => {
    const of = await holder(1)
    const other = await holder(1, of.rfc)
    const { uuid } = await oldest(of)
    expect((await other.check(uuid)).body.status_answer).toBe('vigente')
    const before = await other.get(uuid)
    await of.cancel(uuid, '2026-03-25T18:00:00Z')
    await of.check(uuid)
    await happen('2026-03-21T10:00:00Z')
    expect(await other.get(uuid)).toEqual(before)
    expect(await of.get(uuid)).toMatchObject({ status_checked_at: '2026-03-21T10:00:00.000Z' })
  })

  it('does not undo a newer check of the organization', async () => {
    const of = await holder(1)
    const uuid = await inProcess(of)
    const { through } = authority(async () => {
      // While the background asks, the organization asks too, and is told something newer.
      await env.DB.prepare('delete from sandbox_cancellations where uuid = ?').bind(uuid).run()
      at('2026-03-21T10:00:02Z')
      expect((await of.check(uuid)).body.estatus_cancelacion).not.toBe('en_proceso')
      return new Response(statusAnswer({ CodigoEstatus: FOUND, Estado: 'Vigente', EstatusCancelacion: 'En proceso' }))
    })
    await happen('2026-03-21T10:00:00Z', through)
    expect(await of.get(uuid)).toMatchObject({ status_checked_at: '2026-03-21T10:00:02.000Z' })
    expect((await of.get(uuid)).estatus_cancelacion).not.toBe('en_proceso')
  })
})

describe('what a status check found', () => {
  const found = async (of: Holder) => {
    const { uuid } = await oldest(of)
    await of.cancel(uuid)
    at('2026-03-20T19:00:00Z')
    expect((await of.check(uuid)).body.estatus).toBe('cancelado')
    return uuid
  }

  it('is found by the sweep when its message is lost, and told once however often it is handled', async () => {
    const of = await holder(1)
    const uuid = await found(of)
    const messages = sent.splice(0).filter((body) => 'partition' in (body as object))
    expect(messages).toHaveLength(1)
    expect(await happen('2026-03-20T19:15:00Z')).toBe(1)
    sent.push(...messages, ...messages)
    await settled(sent)
    expect((await eventsOf(of)).filter(({ event }) => event === 'cfdi.cancelled').map(({ cfdi_uuid }) => cfdi_uuid)).toEqual([uuid])
    expect(await rechecksIn(of.entity)).toEqual([])
  })

  it('is committed after a worker that took it died', async () => {
    const of = await holder(1)
    const uuid = await found(of)
    const batch = vi.spyOn(Object.getPrototypeOf(env.LEDGER_0), 'batch').mockRejectedValueOnce(new Error('killed'))
    const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
    await settled(sent)
    expect([batch.mock.calls.length > 0, logged.mock.calls.length > 0]).toEqual([true, true])
    expect(await happen('2026-03-20T19:15:00Z')).toBe(1)
    expect((await of.list(`&uuid=${uuid}&estatus=cancelado`)).length).toBe(1)
    expect(await rechecksIn(of.entity)).toEqual([])
  })

  it('more than a message may settle goes on in further messages', async () => {
    const of = await holder(1)
    const rows = (await of.list('&estatus=vigente&kind=cfdi')).slice(-45)
    for (const { uuid } of rows) await of.cancel(uuid)
    at('2026-03-20T19:00:00Z')
    for (const { uuid } of rows) expect((await of.check(uuid)).status).toBe(200)
    let rounds = 0
    while ((await settled(sent)) > 0) rounds++
    expect(rounds).toBeLessThan(50)
    expect(await rechecksIn(of.entity)).toEqual([])
    const cancelled = await of.list('&estatus=cancelado')
    for (const { uuid } of rows) expect(cancelled.map((row) => row.uuid)).toContain(uuid)
  })
})

it('the sweep looks at the index of a ledger once, and reads no row while nothing is in doubt', async () => {
  const of = await holder(1)
  const { uuid } = await oldest(of)
  expect((await of.check(uuid)).status).toBe(200)
  const { cost } = await costOf(env.LEDGER_0, env.FILES, sweep)
  expect(cost).toMatchObject({ d1_calls: 1, rows_read: 1, rows_written: 0 })
  expect(sent.filter((body) => 'partition' in (body as object))).toEqual([])
})

describe('a received document that metadata lists as valid, without its XML', () => {
  const listed = (of: Holder, n: number, more: Partial<ListedRow> = {}): ListedRow => ({
    ...{
      file: 'm.txt',
      line: n,
      uuid: `00000000-0000-4000-8000-${of.entity.toString(16).padStart(6, '0')}${n.toString(16).padStart(6, '0')}`,
    },
    ...{ emisor_rfc: 'XIA190128J61', emisor_nombre: null, receptor_rfc: of.rfc, receptor_nombre: null, pac_rfc: null },
    ...{ fecha: '2026-03-10T10:00:00', certified_at: '2026-03-10T10:01:00', total: '116.00', kind: 'cfdi', tipo_comprobante: 'I' },
    ...{ cancelled: false, cancelled_at: null, cancellation_reason: null, folio_sustitucion: null },
    ...more,
  })
  const ingest = async (of: Holder, rows: ListedRow[], provenance: 'authority' | 'import' = 'authority') => {
    const target = { ledger: env.LEDGER_0, files: env.FILES, entity: of.entity, rfc: of.rfc, now: new Date(), provenance }
    for await (const _ of ingestMetadata(target, () => [rows])) void _
    return rechecksIn(of.entity)
  }

  it('is asked about once, the next day, and cancelled and told when the authority says so', async () => {
    const of = await holder(1)
    const rows = [1, 2, 3].map((n) => listed(of, n))
    const due_at = Date.parse('2026-03-21T10:00:00Z')
    expect(await ingest(of, rows)).toEqual(rows.map(({ uuid }) => ({ uuid, due_at, recheck: 'unproven' })))
    const states = ['Cancelado', 'Vigente', 'No Encontrado']
    const { through, count } = authority((n) => {
      const Estado = states[n - 1]!
      return new Response(statusAnswer({ CodigoEstatus: n === 3 ? 'N - 602: Comprobante no encontrado.' : FOUND, Estado }))
    })
    await happen('2026-03-21T10:00:00Z', through)
    expect([count(), await rechecksIn(of.entity)]).toEqual([3, []])
    const { results } = await env.LEDGER_0.prepare('select estatus, status_checks from cfdi where entity = ? and uuid like ? order by uuid')
      .bind(of.entity, `${rows[0]!.uuid.slice(0, 24)}%`)
      .all()
    expect(results.map(({ estatus }) => estatus).sort()).toEqual(['cancelado', 'vigente', 'vigente'])
    expect(results.map(({ status_checks }) => status_checks)).toEqual([null, null, null])
    expect((await eventsOf(of)).filter(({ event }) => event === 'cfdi.cancelled')).toHaveLength(1)
  })

  it('is not asked about when it is cancelled, issued, of retenciones or imported, or when its XML is missing with many others', async () => {
    const of = await holder(1)
    const others: Partial<ListedRow>[] = [
      { cancelled: true },
      { kind: 'retenciones', tipo_comprobante: null },
      { emisor_rfc: of.rfc, receptor_rfc: 'XIA190128J61' },
    ]
    expect(
      await ingest(
        of,
        others.map((more, n) => listed(of, n, more)),
      ),
    ).toEqual([])
    expect(await ingest(of, [listed(of, 10)], 'import')).toEqual([])
    expect(
      await ingest(
        of,
        Array.from({ length: 21 }, (_, n) => listed(of, 100 + n)),
      ),
    ).toEqual([])
  })
})

describe('through the real authority', () => {
  it.each([
    [
      'Vigente',
      'Cancelable con aceptación',
      '',
      { status_answer: 'vigente', es_cancelable: 'cancelable_con_aceptacion', estatus_cancelacion: null },
    ],
    ['Cancelado', '', 'Plazo vencido', { status_answer: 'cancelado', es_cancelable: null, estatus_cancelacion: 'plazo_vencido' }],
  ])('%s, %s, %s', async (Estado, EsCancelable, EstatusCancelacion, expected) => {
    const of = await holder(1)
    const { uuid } = await oldest(of)
    const requests: Request[] = []
    const { checkStatus } = await import('../../../src/downloads/status/check-status.ts')
    const { contextOf } = await import('../../support/context.ts')
    const row = (await env.DB.prepare('select * from connections where fiscal_entity_id = ?').bind(of.fiscal_entity_id).first<Notified>())!
    const EGRESS = {
      fetch: async (url: string, init: RequestInit) => {
        requests.push(new Request(url, init))
        return new Response(statusAnswer({ CodigoEstatus: FOUND, Estado, EsCancelable, EstatusCancelacion }))
      },
    }
    const ctx = contextOf(row)
    const asked = { ...ctx, env: { ...env, EGRESS } as unknown as Env, settings: { ...ctx.settings, taxAuthority: 'sat' as const } }
    expect(await checkStatus(asked, uuid)).toMatchObject(expected)
    const [request] = requests
    const { sello_ultimos_8, total } = await of.get(uuid)
    expect([requests.length, new URL(request!.url).hostname]).toEqual([1, 'consultaqr.facturaelectronica.sat.gob.mx'])
    const body = await request!.text()
    for (const part of [uuid, of.rfc, sello_ultimos_8, `tt=${Number(total)}`]) expect(body.replaceAll('&amp;', '&')).toContain(part)
  })

  it('without an answer nothing changes, says nothing of the document, and may be asked again at once', async () => {
    const of = await holder(1)
    const { uuid } = await oldest(of)
    const before = await of.get(uuid)
    const EGRESS = { fetch: async () => new Response('<html></html>', { status: 500 }) }
    const through = { ...env, EGRESS, TAX_AUTHORITY: 'sat' } as unknown as Env
    const path = `https://api.test/v1/cfdi/${uuid}/status-check?fiscal_entity_id=${of.fiscal_entity_id}`
    for (let n = 0; n < 2; n++) {
      const request = new Request(path, { method: 'POST', headers: { authorization: basic(of.owner) } })
      const reply = await app.fetch(request, through, createExecutionContext())
      const body = await reply.text()
      expect([reply.status, JSON.parse(body).code, reply.headers.get('retry-after')]).toEqual([503, 'authority.sat_unavailable', '30'])
      expect(body).not.toContain(of.rfc)
    }
    expect([await of.get(uuid), await rechecksIn(of.entity)]).toEqual([before, []])
    expect((await of.check(uuid)).status).toBe(200)
  })
})

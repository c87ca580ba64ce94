import { beforeAll, describe, expect, it, vi } from 'vitest'
import { uuidOf } from '../../../src/platform/db/id.ts'
import { includes, rolesWith, SCOPES, type Scope } from '../../../src/platform/tenant/scopes.ts'
import { ROLES } from '../../../src/platform/tenant/tenant.ts'
import { scopeOfRoute } from '../../../tools/openapi/route-table.ts'
import { api, basic, type Caller } from '../../support/client.ts'
import { absent, callOf, type Entry, type Given, givenOf, ofEntity, TABLE } from '../../support/matrix.ts'
import { silenceDownloads } from '../../support/queues.ts'
import { essence, metered, ROUTES, send } from '../../support/wire.ts'
import { credentialOf, quiet, type Side, sideOf, undisturbed } from '../../support/world.ts'

vi.spyOn(console, 'log').mockImplementation(() => {})

let ours: Side
/** The same organization, seen from its other RFC. */
let other: Side
let rfc: string

beforeAll(async () => {
  ours = await sideOf()
  silenceDownloads()
  other = { ...ours, fiscal_entity_id: ours.spare_entity_id }
  rfc = (await api(ours.callers.owner, 'GET', `/v1/fiscal-entities/${ours.spare_entity_id}`)).body.rfc
  await quiet()
}, 120_000)

const as = (caller: Caller) => ({ authorization: basic(caller) })
const closed = TABLE.filter(({ row }) => row.may !== 'public')
const scopeIn = ({ route }: Pick<Entry, 'route'>): Scope => scopeOfRoute(route)!

const keys = new Map<string, Promise<Caller>>()
/** A credential of the organization, made once for each draft. */
const keyWith = (draft: object): Promise<Caller> => {
  const text = JSON.stringify(draft)
  const made = keys.get(text) ?? credentialOf(ours.callers.owner, 'owner', draft)
  keys.set(text, made)
  return made
}

describe('a role is the bundle of its scopes', () => {
  it('has those of every operation that it may do, and every scope is of an operation', () => {
    const roles = ({ row }: Entry) => ROLES.filter((role) => row.may.includes(role as never))
    expect(closed.map((entry) => [entry.name, roles(entry)])).toEqual(closed.map((entry) => [entry.name, rolesWith(scopeIn(entry))]))
    // Only an acknowledgement needs that one.
    const used = new Set<Scope>([...ROUTES.flatMap((route) => scopeOfRoute(route) ?? []), 'tax_mailbox:open'])
    expect([...used].sort()).toEqual(SCOPES.toSorted())
  })
})

describe('a credential with one scope may do what it names, and one with all others may not', () => {
  it.each(closed)('$name', async (entry) => {
    const scope = scopeIn(entry)
    const { path, sent } = callOf(entry, await givenOf(entry, ours))
    const ask = async (scopes: Scope[]) => send(entry.route.method, path, { ...sent, ...as(await keyWith({ scopes })) })
    const refused = await ask(SCOPES.filter((one) => one !== scope))
    expect([refused.status, refused.body.code]).toEqual([403, 'credential.scope'])
    expect(refused.body.detail).toContain(`the scope ${scope},`)
    const { status, text } = await ask([scope])
    // What the scope is not enough for is what a credential makes that exceeds it.
    expect([status, text.slice(0, 300)]).toEqual([EXCEEDING[entry.name] ?? entry.row.answers, expect.anything()])
  })

  const EXCEEDING: Record<string, number> = { 'POST /v1/credentials/:api_key/roll': 403, 'PATCH /v1/team/members/:member_id': 403 }
})

/** Operations with a resource that a row makes for the whole organization, or for an RFC of its own. */
const OF_OTHERS =
  /^(POST \/v1\/runs\/:run_id\/cancel|GET \/v1\/runs\/:run_id(\/jobs)?|.* \/v1\/(webhooks|storage-connectors)\/:.*|GET \/v1\/events\/:event_id|POST \/v1\/alerts\/:alert_id\/read)$/

describe('a credential that is bound to an RFC', () => {
  const boundTo = (...fiscal_entity_ids: string[]) => keyWith({ fiscal_entity_ids })
  const isOfOrganization = (entry: Entry) => !includes({ role: 'owner', scopes: null, fiscal_entity_ids: [] }, scopeIn(entry))

  it.each(closed)('$name: may do it for this RFC, and for the organization only by its own scopes', async (entry) => {
    const given = await givenOf(entry, ours)
    const own = given['fiscal_entity_id'] ?? ours.fiscal_entity_id
    const { path, sent } = callOf(entry, given)
    const { status, text, body } = await send(entry.route.method, path, { ...sent, ...as(await boundTo(own)) })
    if (isOfOrganization(entry)) expect([status, body.code]).toEqual([403, 'credential.scope'])
    else expect([status, text.slice(0, 300)]).toEqual([OF_OTHERS.test(entry.name) ? 404 : entry.row.answers, expect.anything()])
  })

  const named = closed.filter((entry) => entry.row.given && !isOfOrganization(entry))
  const withEntity = named.filter(({ route, row }) => route.path.includes(':fiscal_entity_id') || row.query || row.json === ofEntity)
  const looked = named.flatMap((entry) => {
    const inPath = [...entry.route.path.matchAll(/:(\w+)/g)].map(([, name]) => name!)
    const names = [...new Set([...inPath, ...(withEntity.includes(entry) ? ['fiscal_entity_id'] : [])])]
    return names.filter((name) => !entry.row.free?.includes(name)).map((id) => ({ ...entry, id }))
  })

  it.each(looked)('$name by $id: what is of another RFC is told like what is not there', async (entry) => {
    const foreign = await givenOf(entry, ours)
    const mine: Given = { ...foreign, ...(foreign['fiscal_entity_id'] && { fiscal_entity_id: other.fiscal_entity_id }) }
    const key = as(await boundTo(other.fiscal_entity_id === foreign['fiscal_entity_id'] ? ours.fiscal_entity_id : other.fiscal_entity_id))
    const ask = async (value: string) => {
      const { path, sent } = callOf(entry, { ...mine, [entry.id]: value })
      const { answer, d1 } = await metered(entry.route.method, path, { ...sent, ...key })
      return { status: answer.status, essence: essence(answer), d1 }
    }
    const both = async () => [await ask(foreign[entry.id]!), await ask(absent(entry.id))]
    const told = await undisturbed(both, ([one, another]) => one!.d1 === another!.d1)
    expect(told[0]).toEqual(told[1])
    expect(told[0]!.status).toBe(404)
  })

  it.each(closed.filter(({ route }) => route.method === 'GET'))('$name: names nothing of another one', async (entry) => {
    const { path, sent } = callOf(entry, await givenOf(entry, ours))
    for (let cursor = ''; ; ) {
      const { text, body } = await send('GET', path + cursor, { ...sent, ...as(await boundTo(ours.fiscal_entity_id)) })
      for (const name of [other.fiscal_entity_id, uuidOf(other.fiscal_entity_id), rfc]) expect(text).not.toContain(name)
      if (!body?.has_more) return
      cursor = `${path.includes('?') ? '&' : '?'}cursor=${encodeURIComponent(body.next_cursor)}`
    }
  })
})

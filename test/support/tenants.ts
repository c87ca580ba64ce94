import { env } from 'cloudflare:workers'
import { vi } from 'vitest'
import { withCheckDigit } from '../../src/authority/sandbox/world/taxpayers.ts'
import type { Role } from '../../src/platform/tenant/tenant.ts'
import { api, type Caller, request } from './client.ts'

export interface Tenant extends Caller {
  organization_id: string
}

let signups = 0

/** An organization of one's own, through the front door. */
export async function signUp(name = `Org ${++signups}`): Promise<Tenant> {
  const { status, body } = await request('POST', '/v1/auth/signup', {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ organization_name: name, name: 'Ada Owner', email: `ada${signups}@example.com` }),
  })
  if (status !== 201) throw new Error(`sign-up answered ${status}`)
  const { organization, credential } = body as { organization: { id: string }; credential: Caller }
  return { organization_id: organization.id, api_key: credential.api_key, api_secret: credential.api_secret }
}

export interface Person extends Caller {
  member_id: string
  email: string
}

let people = 0

/** Somebody whom the caller invites, and who accepts. */
export async function joined(by: Caller, role: Role = 'member'): Promise<Person> {
  const email = `persona${++people}@example.com`
  const invitation = await api(by, 'POST', '/v1/team/members/invite', { email, role })
  const { status, body } = await request('POST', '/v1/auth/invitations/accept', {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token: invitation.body.token, name: 'Bea' }),
  })
  if (status !== 201) throw new Error(`accepting answered ${status}: ${JSON.stringify(body)}`)
  const { member, credential } = body as { member: { member_id: string }; credential: Caller }
  return { member_id: member.member_id, email, api_key: credential.api_key, api_secret: credential.api_secret }
}

/** How many RFCs a file has used. The setup of each file begins with 0, so that a file's documents do not depend on those before it. */
const used = globalThis as { rfcs?: number }

/** An RFC that no other test of the file uses. */
export function freshRfc(): string {
  const n = used.rfcs ?? 0
  used.rfcs = n + 1
  return withCheckDigit(
    `TST${String(100101 + (n % 28)).padStart(6, '0')}${String.fromCharCode(65 + (Math.floor(n / 28) % 26))}${String.fromCharCode(65 + (n % 26))}`,
  )
}

/** Connects an RFC with a CIEC that the sandbox accepts. */
export async function connect(tenant: Tenant, rfc = freshRfc(), more: object = {}): Promise<{ fiscal_entity_id: string; rfc: string }> {
  const { status, body } = await api(tenant, 'POST', '/v1/fiscal-entities', { rfc, ciec: 'secreta1', ...more })
  if (status !== 201) throw new Error(`connecting answered ${status}: ${JSON.stringify(body)}`)
  return { fiscal_entity_id: body.fiscal_entity_id, rfc }
}

/** Waits until nothing is queued or running for the RFC. */
export const synced = (tenant: Tenant, fiscal_entity_id: string) =>
  vi.waitUntil(
    async () => {
      const { body } = await api(tenant, 'GET', `/v1/fiscal-entities/${fiscal_entity_id}/sync`)
      return body.status === 'idle' && body.jobs.total > 0 && body
    },
    { timeout: 60_000, interval: 100 },
  )

/** An organization without any extractor, on a plan, and a way to ask in its name. */
export async function organization(plan = 'api') {
  const owner = await signUp()
  const callers: Partial<Record<Role, Caller>> = { owner }
  const as = async (role: Role): Promise<Caller> =>
    (callers[role] ??= (await api(owner, 'POST', '/v1/credentials', { name: role, role })).body as Caller)
  const ask = async (method: string, path: string, body?: unknown, role: Role = 'owner') => api(await as(role), method, path, body)
  // As rows, because hundreds are made. However far a test goes into the future, it is not invoiced.
  await env.DB.batch([
    env.DB.prepare('delete from extractors where organization_id = ?').bind(owner.organization_id),
    env.DB.prepare("update organizations set plan = ?, extractor_count = 0, billed_month = '9999-12' where id = ?").bind(
      plan,
      owner.organization_id,
    ),
  ])
  return { id: owner.organization_id, owner, as, ask }
}

export type Organization = Awaited<ReturnType<typeof organization>>

export const audited = async (of: Organization, action: string): Promise<{ changed: string[] }[]> =>
  (await of.ask('GET', `/v1/audit-events?action=${action}&limit=100`)).body.data

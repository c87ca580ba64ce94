/**
 * The same page of a server without a platform: Fastify over copies of both databases, in a process of its own. It authenticates, runs the
 * former statement, and answers the same JSON. Reads its setup from the standard input and answers its port.
 */
import { createHmac } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { text } from 'node:stream/consumers'
import fastify from 'fastify'
import type { ReadRow } from '../../../src/cfdi/read-row.ts'
import { view } from '../../../src/cfdi/read-row.ts'

/** What the server is given. */
export interface FastifySetup {
  control: string
  ledger: string
  /** Takes the fiscal entity and the digest of the secret. */
  authenticate: string
  page: { sql: string; params: (string | number)[] }
  limit: number
  /** Of 32 bytes, in base64: all keys of the bench are the same. */
  key: string
}

const { control, ledger, authenticate, page, limit, key }: FastifySetup = JSON.parse(await text(process.stdin))
const credentials = new DatabaseSync(control).prepare(authenticate)
const rows = new DatabaseSync(ledger).prepare(page.sql)
const secretKey = Buffer.from(key, 'base64')
const hmac = (data: string) => createHmac('sha256', secretKey).update(data)

const app = fastify()
app.get('/v1/cfdi', (request, reply) => {
  const { fiscal_entity_id } = request.query as { fiscal_entity_id: string }
  const [api_key, secret = ''] = Buffer.from((request.headers.authorization ?? '').slice('Basic '.length), 'base64')
    .toString()
    .split(':')
  const digest = `1.${hmac(secret).digest('hex')}`
  const known = credentials.get(digest, fiscal_entity_id, digest, digest)
  if (known === undefined || known['api_key'] !== api_key) return reply.code(401).send({ detail: 'The credential is unknown.' })
  const found = rows.all(...page.params) as unknown as (ReadRow & { applied: null })[]
  const until = page.params[3] as number
  const partition = {
    origin: 'authority',
    changesFrom: () => 0,
    bounds: [{ directions: [0, 1], floor: null, since: null, until }],
  } as const
  const data = found.slice(0, limit).map((row) => view(row, { fiscal_entity_id, partition }))
  const { issued_at, uuid } = found[limit - 1]!
  const position = JSON.stringify([issued_at, uuid])
  const scope = ['cfdi', known['organization_id'], JSON.stringify(Object.entries({ fiscal_entity_id, sort: '-issued_at' })), position]
  const mac = hmac(JSON.stringify(scope)).digest().subarray(0, 16)
  const next_cursor = `1.${Buffer.from(position).toString('base64url')}.${mac.toString('base64url')}`
  // The book is filled without downloads, so no month counts as downloaded.
  return { data, has_more: found.length > limit, next_cursor, scanned_through: null, data_status: 'missing' }
})

console.log(new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port)

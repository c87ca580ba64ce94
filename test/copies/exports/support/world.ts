import { env, exports } from 'cloudflare:workers'
import { vi } from 'vitest'
import { api, basic, type Caller } from '../../../support/client.ts'

export const bytesAt = async (caller: Caller, path: string, headers: Record<string, string> = {}, method = 'GET') => {
  const response = await exports.default.fetch(
    new Request(`https://api.test${path}`, { method, headers: { authorization: basic(caller), ...headers } }),
  )
  return { status: response.status, headers: response.headers, bytes: new Uint8Array(await response.arrayBuffer()) }
}

export const contentOf = async (caller: Caller, export_id: string): Promise<Uint8Array> => {
  const { status, bytes } = await bytesAt(caller, `/v1/exports/${export_id}/content`)
  if (status !== 200) throw new Error(`The content answered ${status}: ${new TextDecoder().decode(bytes)}`)
  return bytes
}

export async function begun(caller: Caller, json: object): Promise<string> {
  const { status, body } = await api(caller, 'POST', '/v1/exports', json)
  if (status !== 202) throw new Error(`The export answered ${status}: ${JSON.stringify(body)}`)
  return body.export_id
}

/** Begins an export, and waits until it is ready. */
export async function exported(caller: Caller, json: object) {
  const export_id = await begun(caller, json)
  const made = await vi.waitUntil(
    async () => {
      const { body } = await api(caller, 'GET', `/v1/exports/${export_id}`)
      if (body.status === 'failed') throw new Error(`The export failed: ${body.error_code}`)
      return body.status === 'ready' && body
    },
    { timeout: 30_000, interval: 50 },
  )
  return { made, bytes: await contentOf(caller, export_id) }
}

/** Everything that a list answers, page by page. */
export async function walked(caller: Caller, path: string, query: Record<string, string>): Promise<Record<string, unknown>[]> {
  const rows: Record<string, unknown>[] = []
  for (let cursor: string | undefined; ; ) {
    const { status, body } = await api(
      caller,
      'GET',
      `${path}?${new URLSearchParams({ ...query, limit: '100', ...(cursor && { cursor }) })}`,
    )
    if (status !== 200) throw new Error(`${path} answered ${status}: ${JSON.stringify(body)}`)
    rows.push(...body.data)
    if (!body.has_more) return rows
    cursor = body.next_cursor
  }
}

/** Keys of the bucket that an export has. */
export const objectsOf = async (export_id: string): Promise<string[]> =>
  (await env.FILES.list({ prefix: `exports/${export_id}/` })).objects.map(({ key }) => key)

import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { stripTypeScriptTypes } from 'node:module'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'

const markdownOf = (name: string): string => readFileSync(`docs/${name}.md`, 'utf8')

/** The code of a guide in a language that has a text in it. */
function codeOf(name: string, language: string, part: string): string {
  const found = [...markdownOf(name).matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(([, code]) => code!)
  const code = found.find((one) => one.includes(part))
  if (code === undefined) throw new Error(`The guide ${name} has no ${language} with ${part}.`)
  return code
}

type Code = (...args: unknown[]) => unknown

/** A function of a guide, with what the guide takes for granted. */
function functionOf(name: string, wanted: string, given: Record<string, unknown>): Code {
  const code = stripTypeScriptTypes(codeOf(name, '[jt]s', `function ${wanted}(`))
    .replaceAll(/^import .*$/gm, '')
    .replaceAll(/^export /gm, '')
  return new Function(...Object.keys(given), `${code}\nreturn ${wanted}`)(...Object.values(given)) as Code
}

describe('the loop of /docs/first-hour that waits for a download', () => {
  const loop = codeOf('first-hour', 'sh', '/sync')

  /** What the loop prints, and how often it asked, of a service that answers so. */
  async function waited(answers: readonly (readonly [status: number, body: object])[]): Promise<[printed: string, asked: number]> {
    let asked = 0
    const server = createServer((request, response) => {
      const [status, body] = answers[Math.min(asked++, answers.length - 1)]!
      expect(request.url).toBe('/v1/fiscal-entities/fe_1/sync')
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    })
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    const API = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    try {
      const script = `sleep() { :; }\n${loop}`
      const env = { ...process.env, API, AUTH: 'key:secret', FE: 'fe_1' }
      const { stdout } = await promisify(execFile)('sh', ['-c', script], { env, timeout: 10_000 })
      return [stdout.trim(), asked]
    } finally {
      server.close()
    }
  }
  const sync = (state: string, summary = 'It goes on.') => [200, { state, status: 'running', error_class: null, summary }] as const

  it('goes on while it is running or waiting, and ends when it is idle', async () => {
    expect(await waited([sync('running'), sync('waiting'), sync('running'), sync('idle')])).toEqual(['Everything is downloaded.', 4])
  })

  it('ends at once with the sentence when somebody has to act, and at an error', async () => {
    const sentence = 'The tax authority refuses the CIEC. Send another one with PATCH /v1/fiscal-entities/{id}.'
    expect(await waited([sync('running'), sync('blocked', sentence)])).toEqual([sentence, 2])
    await expect(waited([[404, { detail: 'There is no such fiscal entity.' }]])).resolves.toEqual(['', 1])
  })
})

interface Store {
  put(uuid: string, row: object): void
  delete(uuid: string): void
  keepCursor(fe: string, cursor: string | null): void
  keepListCursor(fe: string, cursor: string | null): void
}

describe('the loops of /docs/mirroring', () => {
  /** A mirror, and the requests that a loop sends to a service with these pages. */
  function world(pages: Record<string, object>) {
    const rows = new Map<string, unknown>()
    const cursors: Record<string, unknown> = {}
    const asked: string[] = []
    const store: Store = {
      put: (uuid, row) => rows.set(uuid, row),
      delete: (uuid) => rows.delete(uuid),
      keepCursor: (_, cursor) => (cursors['changes'] = cursor),
      keepListCursor: (_, cursor) => (cursors['lists'] = cursor),
    }
    const get = async (path: string) => {
      asked.push(path)
      const page = pages[path]
      if (!page) throw new Error(`Nothing answers ${path}.`)
      return page
    }
    return { rows, cursors, asked, given: { get, inOneTransaction: async (work: (on: Store) => unknown) => work(store) } }
  }

  it('puts, deletes, and keeps the cursor of each answer', async () => {
    const path = '/v1/cfdi/changes?fiscal_entity_id=fe_1&limit=100'
    const { rows, cursors, asked, given } = world({
      [path]: { data: [1, 2].map((n) => ({ uuid: `u${n}`, cfdi: { uuid: `u${n}` } })), has_more: true, next_cursor: 'a' },
      [`${path}&cursor=a`]: { data: [{ uuid: 'u1', cfdi: null }], has_more: false, next_cursor: 'b' },
    })
    await functionOf('mirroring', 'mirror', given)('fe_1', null)
    expect([[...rows.keys()], cursors, asked.length]).toEqual([['u2'], { changes: 'b' }, 2])
  })

  it('lists the documents of each counterparty again whose place on a list changed, once for each answer', async () => {
    const events = '/v1/events?event_key=blacklist.changed&fiscal_entity_id=fe_1&limit=100'
    const list = '/v1/cfdi?fiscal_entity_id=fe_1&counterparty_rfc=EKU9003173C9&limit=100'
    const event = { counterparty_rfc: 'EKU9003173C9' }
    const { rows, cursors, asked, given } = world({
      [`${events}&cursor=z`]: { data: [event, event], has_more: true, next_cursor: 'a' },
      [`${events}&cursor=a`]: { data: [], has_more: false, next_cursor: 'b' },
      [list]: { data: [{ uuid: 'u1', n: 1 }], has_more: true, next_cursor: 'p' },
      [`${list}&cursor=p`]: { data: [{ uuid: 'u2', n: 2 }], has_more: false, next_cursor: null },
    })
    await functionOf('mirroring', 'repairBlacklists', given)('fe_1', 'z')
    expect([[...rows.keys()], cursors, asked.length]).toEqual([['u1', 'u2'], { lists: 'b' }, 4])
  })
})

describe('the delivery of /docs/webhooks', () => {
  const page = readFileSync('assets/docs/webhooks.html', 'utf8').replaceAll('&quot;', '"')
  const [, request = ''] = /<code class="language-http">(.*?)<\/code>/s.exec(page) ?? []
  const [head = '', body = ''] = request.trim().split('\n\n')
  const headers = Object.fromEntries(
    head.split('\n').flatMap((line) => [...line.matchAll(/^([\w-]+): (.*)$/g)].map(([, k, v]) => [k!, v!])),
  )

  it('is a whole one, which the code of the guide verifies', async () => {
    const event = JSON.parse(body) as { event: string; event_id: string }
    expect(headers).toMatchObject({
      'Service-Event': event.event,
      'Service-Delivery-Id': event.event_id,
      'Service-Attempt': '1',
      'webhook-id': event.event_id,
    })
    const { createHmac, timingSafeEqual } = await import('node:crypto')
    const isSigned = functionOf('webhooks', 'isSigned', { createHmac, timingSafeEqual })
    const [secret] = /whsec_[\w+/=]+/.exec(page)!
    expect(isSigned(Buffer.from(body), headers['Service-Signature'], secret)).toBe(true)
    expect(isSigned(Buffer.from(`${body} `), headers['Service-Signature'], secret)).toBe(false)
  })

  it('names only events of the catalog, and says of each one that is not sent what to use', () => {
    const { data } = JSON.parse(readFileSync('assets/event-catalog.json', 'utf8')) as { data: { key: string; available: boolean }[] }
    const guide = markdownOf('webhooks')
    const named = [
      ...guide.matchAll(
        /\b(?:cfdi|sync|extraction|connection|document|alert|obligation|storage|mailbox|blacklist|quota)\.[a-z_.\d]*[a-z\d]\b/g,
      ),
    ]
    expect(named.map(([key]) => key).filter((key) => !data.some((one) => one.key === key))).toEqual([])
    const [, instead = ''] = /^\| `available: false`(.*?)^$/ms.exec(guide) ?? []
    const left = instead.split('\n').map((row) => row.split('|')[1] ?? '')
    const isNotified = (key: string): boolean => left.some((cell) => cell.includes(`\`${key}\``))
    expect(data.filter(({ key, available }) => available === isNotified(key)).map(({ key }) => key)).toEqual([])
  })
})

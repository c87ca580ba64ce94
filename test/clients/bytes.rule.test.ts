import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { isBytes } from '../../clients/typescript/src/bytes.ts'

/** Its types are those of the generated part, which has a compiler's configuration of its own. */
const CLIENT = new URL('../../clients/typescript/src/index.ts', import.meta.url).href
type Client = Record<string, (options: object) => Promise<unknown>>

type Content = Record<string, { schema: { format?: string } }>
interface Operation {
  operationId?: string
  responses: Record<string, { content?: Content }>
}
const { paths } = JSON.parse(readFileSync('assets/openapi.test.json', 'utf8')) as { paths: Record<string, Record<string, Operation>> }
/** Every media type of every success, with whether the document says that it has bytes. */
const successes = Object.entries(paths).flatMap(([path, item]) =>
  Object.values(item).flatMap(({ operationId, responses }) =>
    Object.entries(responses ?? {})
      .filter(([status]) => status.startsWith('2'))
      .flatMap(([, { content = {} }]) =>
        Object.entries(content).map(([type, { schema }]) => ({ path, operationId, type, has: schema.format === 'binary' })),
      ),
  ),
)

/** A client of a service that answers every request so. */
async function clientOf(body: BodyInit, contentType: string): Promise<Client> {
  const { FiscalData } = (await import(CLIENT)) as { FiscalData: new (options: object) => Client }
  const fetch = async () => new Response(body, { headers: { 'Content-Type': contentType } })
  return new FiscalData({ baseUrl: 'https://api.example.com', apiKey: 'key', apiSecret: 'secret', fetch })
}

describe('the TypeScript client', () => {
  it('takes as bytes what the document says to be bytes, and nothing else', () => {
    expect(successes.filter(({ has }) => has).length).toBeGreaterThan(20)
    expect(successes.filter(({ path, type, has }) => isBytes(path, `${type}; charset=utf-8`) !== has)).toEqual([])
  })

  it.each([
    ['text/csv; charset=utf-8', 'readExport', { export_id: 'exp_1' }],
    ['application/x-ndjson', 'readExport', { export_id: 'exp_1' }],
    ['application/json', 'readDocument', { fiscal_entity_id: 'fe_1', document_id: 'doc_1' }],
    ['application/xml', 'getCfdiXml', { uuid: 'u' }],
    ['text/csv; charset=utf-8', 'searchCfdi', {}],
  ])('answers a %s of %s as it is, with the mark of its encoding', async (type, operation, path) => {
    const bytes = new TextEncoder().encode('\ufeff{"uuid": "ñ"}\r\n')
    const found = await (await clientOf(bytes, type))[operation]!({ path })
    expect(found).toBeInstanceOf(Blob)
    expect(new Uint8Array(await (found as Blob).arrayBuffer())).toEqual(bytes)
  })

  it('asks for a table with the header of the caller', async () => {
    const { FiscalData } = (await import(CLIENT)) as { FiscalData: new (options: object) => Client }
    const asked: (string | null)[] = []
    const fetch = async (request: Request) => {
      asked.push(request.headers.get('Accept'))
      return new Response('uuid\r\n', { headers: { 'Content-Type': 'text/csv; charset=utf-8' } })
    }
    const api = new FiscalData({ baseUrl: 'https://api.example.com', apiKey: 'key', apiSecret: 'secret', fetch })
    expect(await api['searchCfdi']!({ headers: { Accept: 'text/csv' } })).toBeInstanceOf(Blob)
    expect(asked).toEqual(['text/csv'])
  })

  it('needs no credential to sign up, and sends none', async () => {
    const { FiscalData } = (await import(CLIENT)) as { FiscalData: new (options: object) => Client }
    const sent: (string | null)[] = []
    const fetch = async (request: Request) => {
      sent.push(request.headers.get('Authorization'))
      return Response.json({})
    }
    await new FiscalData({ baseUrl: 'https://api.example.com', fetch })['signUp']!({ body: {} })
    await new FiscalData({ baseUrl: 'https://api.example.com', apiKey: 'key', apiSecret: 'secret', fetch })['getOrganization']!({})
    expect(sent).toEqual([null, `Basic ${btoa('key:secret')}`])
  })

  it('names the code in the text of an error', async () => {
    const { FiscalData } = (await import(CLIENT)) as { FiscalData: new (options: object) => Client }
    const fetch = async () => Response.json({ code: 'cfdi.not_found', detail: 'There is none.' }, { status: 404 })
    const api = new FiscalData({ baseUrl: 'https://api.example.com', apiKey: 'key', apiSecret: 'secret', fetch })
    await expect(api['getCfdi']!({ path: { uuid: 'u' } })).rejects.toThrow('cfdi.not_found: There is none.')
  })

  it('answers JSON as what it says', async () => {
    expect(await (await clientOf('{"data":[]}', 'application/json'))['searchCfdi']!({})).toEqual({ data: [] })
  })
})

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { FAULTS } from '../../console/api/spanish.ts'
import { MEMBERS, PROCESSES } from '../../console/pages/account/audit/spanish.ts'
import { words as account } from '../../console/pages/account/words.ts'
import { ERRORS, words as webhook } from '../../console/pages/automation/webhook/words.ts'
import { whyOf } from '../../console/pages/work/imports/words.ts'
import { REPORTS } from '../../src/analytics/reports/reports.ts'
import { EVENT_KEYS } from '../../src/delivery/catalog/payload-contract.ts'
import { targetFault } from '../../src/platform/target.ts'

const sources = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => readFileSync(join('src', file), 'utf8'))
const found = (pattern: RegExp): string[] => [...new Set(sources.flatMap((text) => [...text.matchAll(pattern)].map(([, name]) => name!)))]

interface Schema {
  $ref?: string
  properties?: Record<string, Schema>
  allOf?: Schema[]
  anyOf?: Schema[]
  oneOf?: Schema[]
}
interface Operation {
  requestBody?: { content: Record<string, { schema: Schema }> }
}
const api = JSON.parse(readFileSync('assets/openapi.test.json', 'utf8')) as {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema> }
}
const membersOf = ({ $ref, properties = {}, allOf = [], anyOf = [], oneOf = [] }: Schema): string[] => [
  ...($ref ? membersOf(api.components.schemas[$ref.split('/').at(-1)!]!) : Object.keys(properties)),
  ...[...allOf, ...anyOf, ...oneOf].flatMap(membersOf),
]
/** Requests that change nothing, that are recorded by parts, or for which nobody has a credential yet. */
const UNRECORDED = /\/(preview|lookup|batch|accept|signup|confirm)$/
const sent = Object.entries(api.paths)
  .filter(([path]) => !UNRECORDED.test(path))
  .flatMap(([, operations]) => Object.values(operations))
  .flatMap(({ requestBody }) => Object.values(requestBody?.content ?? {}).flatMap(({ schema }) => membersOf(schema)))

describe('in the console, in Spanish', () => {
  it('every event of the catalog is described', () => {
    expect(EVENT_KEYS.filter((key) => !webhook.es.eventWords[key])).toEqual([])
  })

  it('every reason why a delivery has no answer is told', () => {
    const post = ['delivery/deliveries/post', 'platform/egress/answer-status']
      .map((name) => readFileSync(`src/${name}.ts`, 'utf8'))
      .join('')
    const delivery = readFileSync('src/delivery/deliveries/delivery.ts', 'utf8')
    const said = [
      ...[...post.matchAll(/'([A-Z][^']+\.)'/g)].map(([, text]) => text!),
      ...[...delivery.matchAll(/is(?:Unlinked|OfOther)\s*\? '([^']+)'/g)].map(([, text]) => `Not sent: ${text}`),
    ]
    expect(said).toHaveLength(6)
    expect(said.filter((text) => !ERRORS[text])).toEqual([])
    expect(webhook.es.error(`Not sent: ${targetFault('http://127.0.0.1', [])}`)).toMatch(/^No se envió/)
  })

  it.each([
    ...[
      'http://a.example.com',
      'https://a.example.com/ b',
      'https://a.example.com\\b',
      'https://me@a.example.com',
      'https://ñ.example.com',
    ],
    ...[
      'https://a.example.com/ñ',
      'https://a.example.com/#b',
      'https://%61.example.com',
      'https://10.0.0.1',
      'https://10.0.0.1.nip.io',
      'https://www.sat.gob.mx',
    ],
    ...['https://own.example.com', 'https://name', 'https://a.example.com:81', `https://a.example.com/${'a'.repeat(2_048)}`],
  ])('what the API says of the address %s has a sentence', (url) =>
    expect(FAULTS[targetFault(url, ['own.example.com'])!]).toMatch(/^(No d|D|El n).*\.$/),
  )

  it('the audit has a word for every process of the service', () => {
    const processes = [...found(/process: '([a-z]+)'/g), ...found(/actingFor\([^)]*, '([a-z]+)'\)/g)]
    expect(processes.length).toBeGreaterThan(5)
    expect(processes.filter((name) => !PROCESSES[name])).toEqual([])
  })

  it('the audit has a word for every member that it names', () => {
    const written = found(/changed: \[([^\]]+)\]/g).flatMap((list) => [...list.matchAll(/'([a-z_]+)'/g)].map(([, name]) => name!))
    expect([sent.length > 50, written.length > 10]).toEqual([true, true])
    const all = [...sent, ...written, ...Object.keys(REPORTS), 'ciec', 'efirma']
    expect([...new Set(all)].filter((name) => !MEMBERS[name]).sort()).toEqual([])
  })

  it('every reason why a file of an import is rejected is told', () => {
    const files = ['cfdi/xml/xml', 'cfdi/ingest/row', 'cfdi/ingest/upload', 'cfdi/package/central-record'].map((name) =>
      readFileSync(`src/${name}.ts`, 'utf8'),
    )
    const codes = [...files.join('').matchAll(/'((?:cfdi|zip|metadata|import)\.[a-z_]+)'/g)].map(([, code]) => code!)
    expect(new Set(codes).size).toBeGreaterThan(25)
    expect([...new Set(codes)].filter((code) => !whyOf(code))).toEqual([])
  })

  it('credentials that the service makes have names', () => {
    const made = found(/name: '([A-Z][A-Za-z-]+)', (?:role|member_id)/g).concat(found(/mintCredential\([^{]+\{\s+name: '([^']+)'/g))
    expect(made.sort()).toEqual(['Invitation', 'Sign-up'])
    expect(made.map(account.es.credential)).toEqual(['Invitación', 'Registro'])
  })
})

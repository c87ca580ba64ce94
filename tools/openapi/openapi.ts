import { app } from '../../src/app/app.ts'
import { notices } from '../../src/delivery/catalog/catalog.ts'
import type { Settings } from '../../src/platform/settings.ts'
import { document } from './document.ts'
import { operationOf, type Route, routesOf } from './route-table.ts'

type Environment = Settings['environment']

const INFO = {
  title: 'Fiscal Data Service',
  version: '1.0.0',
  contact: { name: 'Fiscal Data Service' },
  license: { name: 'MIT', identifier: 'MIT' },
  description:
    'Connect Mexican taxpayers (RFCs), have their CFDIs downloaded on a cadence, and read them through your visibility windows. ' +
    'Amounts are decimal strings. Lists are paged with cursors. Unknown query parameters, unknown members of a body and ' +
    'a body that a request does not take, such as that of a GET, are refused with 422.',
}

/** The routes that an environment serves: `live` has no test helpers, and its document does not name them. */
const served = (environment: Environment): Route[] =>
  routesOf(app).filter(({ path }) => !isOfFetcher(path) && (environment === 'test' || !path.startsWith('/v1/test-helpers/')))

/** The contract with the external fetcher has a document of its own. */
const isOfFetcher = (path: string): boolean => path.startsWith('/fetcher/')

const FETCHER_INFO = {
  title: 'Fetcher contract of the Fiscal Data Service',
  version: '1.2.0',
  description:
    'What an external fetcher does, which the operator of a deployment runs: it leases jobs, logs in with the CIEC at the portal of the tax authority, ' +
    'uploads what it downloaded, and completes them. It is offered CFDIs and the data sources that the variable FETCHER_SOURCES of the deployment ' +
    'names, all of them when that is empty. Every request is signed with a key of FETCHER_KEYS, which has the form ' +
    '`{version}:{base64 of 32 bytes}`, in three headers. `Fetcher-Timestamp`: seconds since 1970, at most five minutes away. `Fetcher-Digest`: ' +
    'the SHA-256 of the body in lower hexadecimal. `Fetcher-Signature`: `{version}:{base64}` of the HMAC-SHA256 under the key of ' +
    '`{Fetcher-Timestamp}.{method}.{path with query}.{Fetcher-Digest}`. Every request may be repeated.',
}

const EXAMPLE_LEASE = '0-17-5b0c6a0e-6a8f-4f0e-9d3b-0a6f1c2d3e4f'
const EXAMPLE = { rfc: 'EKU9003173C9', content_type: 'application/pdf' }

/** Whole leases and their completions, by the name of the schema. */
const FETCHER_EXAMPLES = {
  Lease: [
    {
      ...{ lease_id: EXAMPLE_LEASE, until: '2026-05-20T09:10:00.000Z', task: 'documents', rfc: EXAMPLE.rfc, ciec: 'secreta1' },
      ...{ source: 'sat_miinformacion', month: null },
    },
  ],
  Completion: [
    { metadata: 2, xml: 5 },
    {
      documents: [
        {
          ...{ n: 0, sha256: 'a1'.repeat(32), ...EXAMPLE, name: 'declaracion-mensual-2026-04.pdf', kind: 'declaracion' },
          ...{ series: 'declaracion:mensual:2026-04-30', title: 'Declaración mensual 2026-04', document_date: '2026-05-17' },
          period_end: '2026-04-30',
          attributes: { ejercicio: '2026', periodo: '04', tipo: 'normal', impuesto: 'IVA', iva_a_cargo: '12500.00' },
          fields: null,
        },
      ],
    },
    {
      documents: [
        {
          ...{
            n: 0,
            sha256: 'b2'.repeat(32),
            ...EXAMPLE,
            name: 'mi-informacion.json',
            content_type: 'application/json',
            kind: 'registration',
          },
          ...{
            series: 'registration',
            title: 'Mi información',
            document_date: '2026-05-01',
            period_end: null,
            attributes: {},
            fields: null,
          },
        },
      ],
      notifications: [
        {
          ...{
            notification: '500-12-00-2026-113',
            kind: 'requerimiento',
            title: 'Requerimiento de información',
            authority: 'ADAF de Querétaro',
          },
          ...{ document_number: '500-12-00-2026-113', sent_at: '2026-05-04T16:30:00Z', opened_at: '2026-05-05T15:02:11Z' },
          document_kind: 'requerimiento',
          document: { n: 1, sha256: 'c3'.repeat(32), ...EXAMPLE, name: 'oficio.pdf' },
        },
      ],
    },
  ],
}

/** The OpenAPI document of the fetcher contract, which `npm run openapi` writes into `docs`. */
export function fetcherApi() {
  const {
    webhooks: _,
    paths,
    components,
    ...api
  } = document(
    routesOf(app).filter(({ path }) => isOfFetcher(path)),
    FETCHER_INFO,
  )
  // The routes take no credentials of customers: their requests are signed instead.
  for (const path of Object.values(paths))
    for (const operation of Object.values(path)) delete (operation as { security?: unknown }).security
  const header = (name: string) => ({ type: 'apiKey', in: 'header', name: `Fetcher-${name}` })
  const securitySchemes = { timestamp: header('Timestamp'), digest: header('Digest'), signature: header('Signature') }
  for (const [name, examples] of Object.entries(FETCHER_EXAMPLES)) Object.assign(components.schemas[name] as object, { examples })
  return { ...api, security: [{ timestamp: [], digest: [], signature: [] }], paths, components: { ...components, securitySchemes } }
}

/**
 * The OpenAPI document of an environment, read off its routes. `npm run openapi` writes it into `assets`, and the Worker answers with that
 * file: neither this file nor the texts of the document are in the bundle.
 */
export const openApiOf = (environment: Environment) => document(served(environment), INFO, notices())

/** An introduction for programs that read text, with every operation in one line. `npm run openapi` writes it into `assets`. */
export function llmsText(guides: readonly (readonly [name: string, title: string])[]): string {
  const lineOf = (route: Route): string => {
    const { summary } = operationOf(route)
    return `- ${route.method} ${route.path.replace(/:(\w+)/g, '{$1}')}: ${summary}`
  }
  const helpers = served('test').filter(({ path }) => path.startsWith('/v1/test-helpers/'))
  return `# ${INFO.title}

> ${INFO.description}

- Send \`Authorization: Basic base64(api_key:api_secret)\`, or the api_secret as a Bearer token. Keys of the sandbox begin with fds_test_, others with fds_live_.
- Every error says in \`detail\` what is wrong and what to do, and has a stable \`code\`; with 422 \`errors\` names the faults in the form of the query or the body, the first twenty of more, and then, one by one, what only stored data can tell.
- A list has \`data\`, \`has_more\` and \`next_cursor\`: send it as \`cursor\` with the same filters while \`has_more\` is true. The last page has \`next_cursor: null\`, but of the feeds /v1/events and /v1/cfdi/changes, whose cursor goes on from there later.
- A POST with an \`Idempotency-Key\` is carried out once, and can be sent again.
- With 429 and 503 wait as long as \`Retry-After\` says.

## Documents

- [OpenAPI 3.1](/v1/openapi.json): every operation, parameter and answer
- [Reference](/docs): the same as a page
${guides.map(([name, title]) => `- [${title}](/docs/${name})`).join('\n')}

## Operations

${served('live').map(lineOf).join('\n')}

## Helpers of the sandbox

Only a deployment for tests has them, with keys that begin with fds_test_. They make happen what otherwise takes days.

${helpers.map(lineOf).join('\n')}
`
}

import { app } from './app.ts'
import { document } from './platform/http/openapi.ts'
import { operationOf, type Route, routesOf } from './platform/http/route-table.ts'
import type { Settings } from './platform/settings.ts'
import { notices } from './webhooks/catalog/notices.ts'

type Environment = Settings['environment']

const INFO = {
  title: 'Fiscal Data Service',
  version: '1.0.0',
  description:
    'Connect Mexican taxpayers (RFCs), have their CFDIs downloaded on a cadence, and read them through your visibility windows. ' +
    'Amounts are decimal strings. Lists are paged with cursors. Unknown query parameters and unknown members of a body are refused with ' +
    '422.',
}

/** The routes that an environment serves: `live` has no test helpers, and its document does not name them. */
const served = (environment: Environment): Route[] =>
  routesOf(app).filter(({ path }) => !isOfFetcher(path) && (environment === 'test' || !path.startsWith('/v1/test-helpers/')))

/** The contract with the external fetcher has a document of its own. */
const isOfFetcher = (path: string): boolean => path.startsWith('/fetcher/')

const FETCHER_INFO = {
  title: 'Fetcher contract of the Fiscal Data Service',
  version: '1.0.0',
  description:
    'What an external fetcher does, which the operator of a deployment runs: it leases jobs, logs in with the CIEC at the portal of the tax authority, ' +
    'uploads what it downloaded, and completes them. Every request is signed with a key of FETCHER_KEYS, which has the form ' +
    '`{version}:{base64 of 32 bytes}`, in three headers. `Fetcher-Timestamp`: seconds since 1970, at most five minutes away. `Fetcher-Digest`: ' +
    'the SHA-256 of the body in lower hexadecimal. `Fetcher-Signature`: `{version}:{base64}` of the HMAC-SHA256 under the key of ' +
    '`{Fetcher-Timestamp}.{method}.{path with query}.{Fetcher-Digest}`. Every request may be repeated.',
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
  // The routes are public to the customers' credentials, and signed instead.
  for (const path of Object.values(paths))
    for (const operation of Object.values(path)) delete (operation as { security?: unknown }).security
  const header = (name: string) => ({ type: 'apiKey', in: 'header', name: `Fetcher-${name}` })
  const securitySchemes = { timestamp: header('Timestamp'), digest: header('Digest'), signature: header('Signature') }
  return { ...api, security: [{ timestamp: [], digest: [], signature: [] }], paths, components: { ...components, securitySchemes } }
}

/**
 * The OpenAPI document of an environment, read off its routes. `npm run openapi` writes it into `assets`, and the Worker answers with that
 * file: neither this file nor the texts of the document are in the bundle.
 */
export const openApiOf = (environment: Environment) => document(served(environment), INFO, notices())

/** What a program that reads text should know first, and every operation in one line. `npm run openapi` writes it into `assets`. */
export function llmsText(): string {
  const operations = served('live').flatMap((route) => {
    const { summary } = operationOf(route)
    return [`- ${route.method} ${route.path.replace(/:(\w+)/g, '{$1}')}: ${summary}`]
  })
  return `# ${INFO.title}

> ${INFO.description}

- Send \`Authorization: Basic base64(api_key:api_secret)\`, or the api_secret as a Bearer token. Keys of the sandbox begin with fds_test_, others with fds_live_.
- Every error says in \`detail\` what is wrong and what to do, and has a stable \`code\`; with 422 \`errors\` names every fault.
- A list has \`data\`, \`has_more\` and \`next_cursor\`: send it as \`cursor\` with the same filters.
- A POST with an \`Idempotency-Key\` is carried out once, and can be sent again.
- With 429 and 503 wait as long as \`Retry-After\` says.

## Documents

- [OpenAPI 3.1](/v1/openapi.json): every operation, parameter and answer
- [Reference](/docs): the same as a page

## Operations

${operations.join('\n')}
`
}

import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { readRecordings } from '../tools/reference/recordings.ts'
import { referenceOf } from '../tools/reference/reference.ts'
import { typesOf } from './console-types.ts'
import { ROOT } from './wrangler.ts'

/** Stands for the module that only the runtime has. Nothing of it is called while the routes are read. */
const RUNTIME = 'data:text/javascript,export class DurableObject {} export class WorkerEntrypoint {} export const waitUntil = () => {}'

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'cloudflare:workers' ? { url: RUNTIME, shortCircuit: true } : next(specifier, context),
})

/** The files that are read off the code, the OpenAPI documents, the catalog of events and the types of the console's client: absolute paths and their texts. */
export async function openApiFiles(): Promise<[file: string, text: string][]> {
  const { fetcherApi, llmsText, openApiOf } = await import('../tools/openapi/openapi.ts')
  const { listCatalog } = await import('../src/delivery/catalog/catalog.ts')
  const { SAMPLES } = await import('../src/delivery/catalog/catalog.ts')
  const recordings = readRecordings()
  const inTest = referenceOf(openApiOf('test'), recordings, SAMPLES)
  const documents = {
    'assets/openapi.test': inTest,
    'assets/openapi.live': referenceOf(openApiOf('live'), recordings, SAMPLES),
    'assets/event-catalog': listCatalog(),
    'docs/fetcher.openapi': fetcherApi(),
  }
  const written = Object.entries(documents).map(([name, document]): [string, string] => [
    join(ROOT, `${name}.json`),
    `${JSON.stringify(document, null, 1)}\n`,
  ])
  const { GUIDES, guidePages } = await import('../tools/reference/pages/pages.ts')
  return [
    ...written,
    [join(ROOT, 'console/api/routes.d.ts'), typesOf(openApiOf('live') as never)],
    ...(await guidePages(inTest, recordings)),
    [join(ROOT, 'assets/llms.txt'), llmsText(GUIDES)],
  ]
}

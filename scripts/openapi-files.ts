import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { ROOT } from './wrangler.ts'

/** Stands for the module that only the runtime has. Nothing of it is called while the routes are read. */
const RUNTIME = 'data:text/javascript,export class DurableObject {} export class WorkerEntrypoint {} export const waitUntil = () => {}'

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'cloudflare:workers' ? { url: RUNTIME, shortCircuit: true } : next(specifier, context),
})

/** The files of `assets` that hold the OpenAPI documents: absolute paths and the texts that the routes of today make. */
export async function openApiFiles(): Promise<[file: string, text: string][]> {
  const { openApiOf } = await import('../src/openapi.ts')
  return (['test', 'live'] as const).map((environment) => [
    join(ROOT, 'assets', `openapi.${environment}.json`),
    `${JSON.stringify(openApiOf(environment), null, 1)}\n`,
  ])
}

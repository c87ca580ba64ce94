import { WorkerEntrypoint } from 'cloudflare:workers'
import { type WithSecrets, withSecrets } from '../src/platform/secrets.ts'
import { shell } from '../src/shell.ts'
import { mountSurfaces } from '../src/surfaces.ts'

const app = mountSurfaces(shell())

/** The Worker of surfaces: what is computed from many documents. The Worker that answers requests hands it those for its paths. */
export default class Surfaces extends WorkerEntrypoint<WithSecrets> {
  override async fetch(request: Request): Promise<Response> {
    return app.fetch(request, await withSecrets(this.env), this.ctx)
  }
}

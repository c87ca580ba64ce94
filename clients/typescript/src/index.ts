import { createClient, createConfig } from './api/client/index.js'
import { Operations } from './api/sdk.gen.js'
import { isBytes } from './bytes.js'
import { FiscalDataError } from './errors.js'
import { type MirroredChanges, mirror } from './mirror.js'
import { type RetryOptions, retrying } from './retry.js'

export * from './api/types.gen.js'
export { FiscalDataError } from './errors.js'
export type { MirroredChanges } from './mirror.js'
export { type Page, pages, rows } from './pages.js'
export { type RetryOptions, retrying } from './retry.js'
export { isSigned } from './webhooks.js'

export interface FiscalDataOptions extends RetryOptions {
  /** Where the service is: an origin, such as `https://api.example.com`. */
  baseUrl: string
  /** What signing up answers, which needs no credential itself. */
  apiKey?: string | undefined
  apiSecret?: string | undefined
}

/**
 * The service, with a method for each operation of its reference. A method answers the body of a success, which is a Blob where it is no
 * JSON, and throws a FiscalDataError otherwise. Requests are repeated as `retrying` says.
 */
export class FiscalData extends Operations {
  constructor({ baseUrl, apiKey, apiSecret, ...retry }: FiscalDataOptions) {
    const client = createClient(
      createConfig({
        baseUrl: baseUrl.replace(/\/+$/, ''),
        auth: ({ scheme }) =>
          scheme === 'basic' && apiKey !== undefined && apiSecret !== undefined ? `${apiKey}:${apiSecret}` : undefined,
        fetch: retrying(retry),
        throwOnError: true,
        responseStyle: 'data',
      }),
    )
    client.interceptors.response.use((response, _, options) => {
      if (options.parseAs === 'auto' && response.ok && isBytes(options.url, response.headers.get('Content-Type'))) options.parseAs = 'blob'
      return response
    })
    client.interceptors.error.use((error, response) => (response && !response.ok ? new FiscalDataError(response.status, error) : error))
    super({ client })
  }

  /** Everything that became readable or changed since `cursor`, in batches to be stored with their cursors. */
  mirror(
    fiscal_entity_id: string,
    options: { cursor?: string | undefined; limit?: number } = {},
  ): AsyncGenerator<MirroredChanges, void, undefined> {
    return mirror(this, fiscal_entity_id, options)
  }
}

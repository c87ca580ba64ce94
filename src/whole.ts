import { mountRequests } from './app.ts'
import { shell } from './shell.ts'
import { mountSurfaces } from './surfaces.ts'

/** Every route of the service in one app, for the OpenAPI document and the tests. */
// The surfaces come first, because `/v1/cfdi/:uuid` would match their paths.
export const app = mountRequests(mountSurfaces(shell()))

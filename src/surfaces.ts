import { customListRoutes } from './blacklists/custom/routes.ts'
import { exportRoutes } from './exports/routes.ts'
import { concentrationRoutes } from './insight/concentration/routes.ts'
import { conceptsRoutes } from './insight/concepts/routes.ts'
import { deductionRoutes } from './insight/deductions/routes.ts'
import { efosRoutes } from './insight/efos/routes.ts'
import { financingRoutes } from './insight/financing/routes.ts'
import { fxRoutes } from './insight/fx/routes.ts'
import { portfolioRoutes } from './insight/portfolio/routes.ts'
import { reportRoutes } from './insight/reports/routes.ts'
import { riskRoutes } from './insight/risk/routes.ts'
import { vatRoutes } from './insight/vat/routes.ts'
import { withholdingRoutes } from './insight/withholdings/routes.ts'
import type { App } from './platform/context.ts'
import type { Hono } from './platform/http/hono.ts'
import { supplierRoutes } from './repse/routes.ts'

/** Mounts what the Worker of surfaces answers: what is computed from many documents. */
export function mountSurfaces(app: Hono<App>): Hono<App> {
  app
    .route('/v1/cfdi', supplierRoutes)
    .route('/v1/cfdi', concentrationRoutes)
    .route('/v1/cfdi', riskRoutes)
    .route('/v1/cfdi', deductionRoutes)
    .route('/v1/cfdi', withholdingRoutes)
    .route('/v1/analytics', portfolioRoutes)
    .route('/v1/analytics', vatRoutes)
    .route('/v1/analytics', conceptsRoutes)
    .route('/v1/analytics', efosRoutes)
    .route('/v1/analytics', financingRoutes)
    .route('/v1/analytics', fxRoutes)
    .route('/v1/reports', reportRoutes)
    .route('/v1/exports', exportRoutes)
    .route('/v1/blacklists/custom', customListRoutes)
  return app
}

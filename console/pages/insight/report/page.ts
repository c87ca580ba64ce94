import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/reports/:report',
  name: { es: 'Reporte', en: 'Report' },
  load: () => import('./report.tsx'),
}

import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/cfdi/:uuid',
  name: { es: 'Un CFDI', en: 'One CFDI' },
  load: () => import('./invoice.tsx'),
}

import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/cfdi/:uuid',
  name: { es: 'Un CFDI', en: 'One CFDI' },
  // Behind every page below /cfdi that is no document.
  order: 900,
  load: () => import('./invoice.tsx'),
}

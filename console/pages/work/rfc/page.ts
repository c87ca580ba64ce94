import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/rfcs/:fiscal_entity_id',
  name: { es: 'Un RFC', en: 'One RFC' },
  load: () => import('./rfc.tsx'),
}

import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/webhooks/new',
  name: { es: 'Nuevo webhook', en: 'New webhook' },
  load: () => import('./new.tsx'),
}

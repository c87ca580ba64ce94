import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/storage/:connector_id',
  name: { es: 'Almacenamiento', en: 'Storage' },
  order: 900,
  load: () => import('./connector.tsx'),
}

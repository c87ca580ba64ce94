import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/storage/new',
  name: { es: 'Conectar almacenamiento', en: 'Connect storage' },
  load: () => import('./new.tsx'),
}

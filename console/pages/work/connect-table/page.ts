import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/connect/table',
  name: { es: 'Conectar varios RFC', en: 'Connect several RFCs' },
  load: () => import('./table.tsx'),
}

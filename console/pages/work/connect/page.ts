import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/connect',
  name: { es: 'Conectar RFC', en: 'Connect an RFC' },
  load: () => import('./connect.tsx'),
}

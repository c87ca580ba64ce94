import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/runs/:run_id',
  name: { es: 'Descarga', en: 'Run' },
  load: () => import('./run.tsx'),
}

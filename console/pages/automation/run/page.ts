import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/runs/:run_id',
  name: { es: 'Corrida', en: 'Run' },
  load: () => import('./run.tsx'),
}

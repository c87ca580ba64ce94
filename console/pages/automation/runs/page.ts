import { History } from 'lucide-preact'
import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/runs',
  name: { es: 'Descargas', en: 'Runs' },
  icon: History,
  order: 20,
  load: () => import('./runs.tsx'),
}

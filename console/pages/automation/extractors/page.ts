import { Timer } from 'lucide-preact'
import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/extractors',
  name: { es: 'Extractores', en: 'Extractors' },
  icon: Timer,
  order: 10,
  load: () => import('./extractors.tsx'),
}

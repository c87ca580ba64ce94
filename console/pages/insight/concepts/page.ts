import { Tags } from 'lucide-preact'
import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/analytics/concepts',
  name: { es: 'Conceptos', en: 'Products' },
  icon: Tags,
  order: 60,
  load: () => import('./concepts.tsx'),
}

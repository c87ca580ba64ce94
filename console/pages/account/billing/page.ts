import { Receipt } from 'lucide-preact'
import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/billing',
  name: { es: 'Plan y uso', en: 'Plan and usage' },
  icon: Receipt,
  order: 30,
  load: () => import('./billing.tsx'),
}

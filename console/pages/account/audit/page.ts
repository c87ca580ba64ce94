import { History } from 'lucide-preact'
import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/audit-events',
  name: { es: 'Auditoría', en: 'Audit' },
  icon: History,
  order: 40,
  load: () => import('./audit.tsx'),
}

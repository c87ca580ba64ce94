import { Bell } from 'lucide-preact'
import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/alerts',
  name: { es: 'Alertas', en: 'Alerts' },
  icon: Bell,
  order: 15,
  load: () => import('./alerts.tsx'),
}

import { CalendarCheck } from 'lucide-preact'
import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/today',
  name: { es: 'Hoy', en: 'Today' },
  icon: CalendarCheck,
  order: 5,
  load: () => import('./today.tsx'),
}

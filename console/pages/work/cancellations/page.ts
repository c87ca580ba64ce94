import { CalendarX } from 'lucide-preact'
import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/cancellation-requests',
  name: { es: 'Cancelaciones', en: 'Cancellations' },
  icon: CalendarX,
  order: 55,
  load: () => import('./cancellations.tsx'),
}

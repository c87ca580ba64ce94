import { Landmark } from 'lucide-preact'
import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/analytics/isr-provisional',
  name: { es: 'Pago provisional de ISR', en: 'Provisional payment of ISR' },
  icon: Landmark,
  order: 15,
  load: () => import('./isr.tsx'),
}

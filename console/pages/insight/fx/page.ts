import { Coins } from 'lucide-preact'
import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/analytics/fx-exposure',
  name: { es: 'Exposición cambiaria', en: 'Currency exposure' },
  icon: Coins,
  order: 70,
  load: () => import('./fx.tsx'),
}

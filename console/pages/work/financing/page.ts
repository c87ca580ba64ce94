import { HandCoins } from 'lucide-preact'
import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/analytics/financing',
  name: { es: 'Por cobrar y por pagar', en: 'Receivables and payables' },
  icon: HandCoins,
  order: 40,
  load: () => import('./financing.tsx'),
}

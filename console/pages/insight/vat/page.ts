import { Percent } from 'lucide-preact'
import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/analytics/vat-position',
  name: { es: 'Posición de IVA', en: 'VAT position' },
  icon: Percent,
  order: 10,
  load: () => import('./vat.tsx'),
}

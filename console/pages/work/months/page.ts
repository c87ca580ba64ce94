import { ChartColumn } from 'lucide-preact'
import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/cfdi/summary/monthly',
  name: { es: 'Meses', en: 'Months' },
  icon: ChartColumn,
  order: 30,
  load: () => import('./months.tsx'),
}

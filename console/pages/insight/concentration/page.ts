import { ChartPie } from 'lucide-preact'
import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/cfdi/concentration',
  name: { es: 'Concentración', en: 'Concentration' },
  icon: ChartPie,
  order: 50,
  load: () => import('./concentration.tsx'),
}

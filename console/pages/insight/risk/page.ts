import { Gauge } from 'lucide-preact'
import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/analytics/risk',
  name: { es: 'Indicadores de riesgo', en: 'Risk indicators' },
  icon: Gauge,
  order: 90,
  load: () => import('./risk.tsx'),
}

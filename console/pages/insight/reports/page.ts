import { FileChartColumn } from 'lucide-preact'
import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/reports',
  name: { es: 'Reportes', en: 'Reports' },
  icon: FileChartColumn,
  order: 40,
  load: () => import('./reports.tsx'),
}

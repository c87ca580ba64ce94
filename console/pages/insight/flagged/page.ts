import { TriangleAlert } from 'lucide-preact'
import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/cfdi/risk',
  name: { es: 'CFDI con riesgo', en: 'CFDIs at risk' },
  icon: TriangleAlert,
  order: 95,
  load: () => import('./flagged.tsx'),
}

import { FileDown } from 'lucide-preact'
import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/exports',
  name: { es: 'Exportaciones', en: 'Exports' },
  icon: FileDown,
  order: 60,
  load: () => import('./exports.tsx'),
}

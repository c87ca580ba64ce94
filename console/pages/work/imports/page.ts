import { FileUp } from 'lucide-preact'
import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/imports',
  name: { es: 'Importaciones', en: 'Imports' },
  icon: FileUp,
  order: 65,
  load: () => import('./imports.tsx'),
}

import { Scissors } from 'lucide-preact'
import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/cfdi/withholdings',
  name: { es: 'Retenciones', en: 'Withholdings' },
  icon: Scissors,
  order: 20,
  load: () => import('./withholdings.tsx'),
}

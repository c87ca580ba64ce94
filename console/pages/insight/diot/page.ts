import { FileText } from 'lucide-preact'
import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/reports/diot/check',
  name: { es: 'Archivo de la DIOT', en: 'DIOT file' },
  icon: FileText,
  order: 15,
  load: () => import('./diot.tsx'),
}

import { Building2 } from 'lucide-preact'
import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/',
  name: { es: 'RFC', en: 'RFCs' },
  icon: Building2,
  order: 10,
  load: () => import('./rfcs.tsx'),
}

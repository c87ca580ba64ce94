import { Building2 } from 'lucide-preact'
import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/organization',
  name: { es: 'Organización', en: 'Organization' },
  icon: Building2,
  order: 50,
  load: () => import('./organization.tsx'),
}

import { Settings } from 'lucide-preact'
import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/organization',
  name: { es: 'Organización', en: 'Organization' },
  icon: Settings,
  order: 50,
  load: () => import('./organization.tsx'),
}

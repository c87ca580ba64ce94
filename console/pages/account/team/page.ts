import { Users } from 'lucide-preact'
import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/team',
  name: { es: 'Equipo', en: 'Team' },
  icon: Users,
  order: 10,
  load: () => import('./team.tsx'),
}

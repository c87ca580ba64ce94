import { KeyRound } from 'lucide-preact'
import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/credentials',
  name: { es: 'Credenciales', en: 'Credentials' },
  icon: KeyRound,
  order: 20,
  load: () => import('./credentials.tsx'),
}

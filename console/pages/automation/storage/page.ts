import { HardDrive } from 'lucide-preact'
import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/storage',
  name: { es: 'Almacenamiento', en: 'Storage' },
  icon: HardDrive,
  order: 40,
  load: () => import('./storage.tsx'),
}

import { ShieldAlert } from 'lucide-preact'
import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/analytics/efos-exposure',
  name: { es: 'Listado 69-B', en: '69-B exposure' },
  icon: ShieldAlert,
  order: 80,
  load: () => import('./efos.tsx'),
}

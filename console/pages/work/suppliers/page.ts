import { Handshake } from 'lucide-preact'
import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/cfdi/repse-suppliers',
  name: { es: 'Proveedores', en: 'Suppliers' },
  icon: Handshake,
  order: 50,
  load: () => import('./suppliers.tsx'),
}

import { ReceiptText } from 'lucide-preact'
import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/cfdi/deductions',
  name: { es: 'Deducciones', en: 'Deductions' },
  icon: ReceiptText,
  order: 30,
  load: () => import('./deductions.tsx'),
}

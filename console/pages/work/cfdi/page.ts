import { ReceiptText } from 'lucide-preact'
import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/cfdi',
  name: { es: 'CFDI', en: 'CFDIs' },
  icon: ReceiptText,
  order: 20,
  load: () => import('./cfdi.tsx'),
}

import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/analytics/vat-position/entries',
  name: { es: 'Documentos de una cifra de IVA', en: 'Documents of a VAT figure' },
  load: () => import('./entries.tsx'),
}

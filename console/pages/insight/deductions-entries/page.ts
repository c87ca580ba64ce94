import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/cfdi/deductions/entries',
  name: { es: 'Documentos de una deducción', en: 'Documents of a deduction' },
  load: () => import('./entries.tsx'),
}

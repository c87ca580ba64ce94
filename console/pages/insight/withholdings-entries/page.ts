import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/cfdi/withholdings/entries',
  name: { es: 'Documentos de una retención', en: 'Documents of a withholding' },
  load: () => import('./entries.tsx'),
}

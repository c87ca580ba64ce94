import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/analytics/financing/entries',
  name: { es: 'Documentos de una cifra', en: 'Documents of a figure' },
  load: () => import('./entries.tsx'),
}

import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/analytics/efos-exposure/entries',
  name: { es: 'Documentos de una cifra', en: 'Documents of a figure' },
  load: () => import('../figures/entries.tsx'),
}

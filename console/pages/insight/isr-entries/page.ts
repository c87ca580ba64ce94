import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/analytics/isr-provisional/entries',
  name: { es: 'Documentos de un renglón del ISR', en: 'Documents of a line of the ISR' },
  load: () => import('./entries.tsx'),
}

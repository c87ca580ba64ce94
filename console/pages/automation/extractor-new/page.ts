import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/extractors/new',
  name: { es: 'Nuevo extractor', en: 'New extractor' },
  load: () => import('./new.tsx'),
}

import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/extractors/:extractor_id',
  name: { es: 'Extractor', en: 'Extractor' },
  order: 900,
  load: () => import('./extractor.tsx'),
}

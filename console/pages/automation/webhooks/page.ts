import { Webhook } from 'lucide-preact'
import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/webhooks',
  name: { es: 'Webhooks', en: 'Webhooks' },
  icon: Webhook,
  order: 30,
  load: () => import('./webhooks.tsx'),
}

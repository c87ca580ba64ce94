import type { Page } from '../../../pages.ts'

export const page: Page = {
  path: '/webhooks/:webhook_id',
  name: { es: 'Webhook', en: 'Webhook' },
  order: 900,
  load: () => import('./webhook.tsx'),
}

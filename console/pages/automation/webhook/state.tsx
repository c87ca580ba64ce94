import type { Webhook } from '../../../api/routes.d.ts'
import { useWords } from '../../../language.ts'
import { Badge } from '../../../parts/badge.tsx'
import { words } from './words.ts'

/** Whether a webhook sends, and whether what it sends arrives. */
export function WebhookState({ webhook: { is_enabled, last_delivery } }: { webhook: Pick<Webhook, 'is_enabled' | 'last_delivery'> }) {
  const t = useWords(words)
  if (!is_enabled) return <Badge tone="idle">{t.disabled}</Badge>
  return last_delivery === 'undelivered' ? <Badge tone="bad">{t.failing}</Badge> : <Badge tone="good">{t.enabled}</Badge>
}

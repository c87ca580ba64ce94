import type { Standing } from '../../../api/standings.ts'
import { useWords } from '../../../language.ts'
import { Badge, type Tone } from '../../../parts/badge.tsx'
import { words } from './words.ts'

const TONES: Record<Standing['state'], Tone> = { idle: 'good', running: 'going', waiting: 'wait', blocked: 'bad' }

/** How an RFC stands, in one word. */
export function StandingBadge({ connection_status: status, state }: Standing) {
  const t = useWords(words)
  if (status === 'active') return <Badge tone={TONES[state]}>{t.tone[state]}</Badge>
  return <Badge tone={status === 'invalid_ciec' ? 'bad' : 'idle'}>{t.status[status]}</Badge>
}

/** Where somebody does what the RFC needs of them; null when it needs nobody. */
export const remedyOf = ({
  connection_status: status,
  fiscal_entity_id,
}: Pick<Standing, 'connection_status' | 'fiscal_entity_id'>): { what: 'draft' | 'paused' | 'invalid_ciec'; href: string } | null =>
  status === 'active'
    ? null
    : { what: status, href: status === 'paused' ? `/rfcs/${fiscal_entity_id}` : `/connect?fiscal_entity_id=${fiscal_entity_id}` }

import type { RunProgress } from '../../../api/routes.d.ts'
import { Progress } from '../../../charts/progress.tsx'
import { count } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Badge } from '../../../parts/badge.tsx'
import { words } from './words.ts'

const TONES = { succeeded: 'good', partly_failed: 'wait', failed: 'bad', cancelled: 'idle', nothing: 'idle' } as const

/** How a run ended, or that it has not. */
export function Outcome({ run: { outcome } }: { run: RunProgress }) {
  const t = useWords(words)
  return outcome ? <Badge tone={TONES[outcome]}>{t.outcomes[outcome]}</Badge> : <Badge tone="going">{t.open}</Badge>
}

/** The downloads of a run as a bar, with what is done of all. */
export function Done({ run: { jobs } }: { run: RunProgress }) {
  const t = useWords(words)
  const text = t.of(count(jobs.succeeded), count(jobs.total))
  return (
    <div>
      <Progress jobs={jobs} label={`${t.progress}: ${text}`} />
      <small>{text}</small>
    </div>
  )
}

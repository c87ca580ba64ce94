import type { WebhookDelivery } from '../../../api/routes.d.ts'
import chart from '../../../charts/charts.module.css'
import { useWords } from '../../../language.ts'
import { words } from './words.ts'

/** What a delivery is given at most. */
const MOST = 6
const STEP = 9

/** The attempts of a delivery as ticks: each one that was answered with 2xx or not, and those that are left while it is pending. */
export function Ticks({ delivery: { attempts, status } }: { delivery: WebhookDelivery }) {
  const t = useWords(words)
  const isGood = (code: number | null) => code !== null && code >= 200 && code < 300
  const open = status === 'pending' ? Array.from({ length: Math.max(0, MOST - attempts.length) }, () => chart.idle) : []
  const kinds = [...attempts.map(({ status_code }) => (isGood(status_code) ? chart.good : chart.bad)), ...open]
  const said = attempts.map(({ status_code }) => status_code ?? t.noAnswer).join(', ')
  return (
    <svg width={MOST * STEP} height="18" role="img" aria-label={said ? t.ticks(said) : t.noTicks}>
      {kinds.map((kind, n) => (
        <rect key={n} class={kind} x={n * STEP + 1} y="1" width="5" height="16" rx="2" />
      ))}
    </svg>
  )
}

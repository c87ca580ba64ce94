import { useQuery } from '@tanstack/preact-query'
import { Link } from 'wouter-preact'
import { billingQuery, usageQuery } from '../api/queries.ts'
import { count } from '../format.ts'
import { useWords } from '../language.ts'
import css from '../parts/states.module.css'
import { words } from './words.ts'

type Thing = keyof typeof words.es.things

/** Where one of them can be taken away. */
const PLACES: Record<Thing, string> = {
  seats: '/billing',
  extractors: '/extractors',
  webhooks: '/webhooks',
  storage_connectors: '/storage',
  exports: '/exports',
  credentials: '/credentials',
  invitations: '/team',
}

function Full({ of, used, limit }: { of: Thing; used: number; limit: number | null }) {
  const t = useWords(words)
  if (limit === null || used < limit) return null
  return (
    <div class={css.notice} role="status">
      <p>{limit === 0 ? t.lacks(t.things[of]) : t.full(count(used), count(limit), t.things[of])}</p>
      <p>
        {limit > 0 && (
          <>
            <Link href={PLACES[of]}>{t.remedy[of]}</Link> {t.or}{' '}
          </>
        )}
        <Link href="/billing">{limit === 0 ? t.plansOnly : of === 'seats' ? t.seats : t.plans}</Link>.
      </p>
    </div>
  )
}

/** Says that the plan has no room for another one, before a form is filled. The API decides when it is sent. */
export function Room({ of }: { of: Exclude<Thing, 'seats'> }) {
  const { data } = useQuery(usageQuery)
  return data ? <Full of={of} {...data.quotas[of]} /> : null
}

/** The same of RFCs: whether a seat is left, and whether any may be connected. */
export function Seats() {
  const t = useWords(words)
  const { data } = useQuery(billingQuery)
  if (!data) return null
  // The trial of an e-mail address belongs to the organization that used it: any other has no end of one.
  const isTrialUsed = data.state === 'diagnostic_expired' && data.trial_ends_at === null
  // To pause or unlink an RFC frees nothing in a trial.
  const isTrialFull = data.state === 'trialing' && data.seats.allowance !== null && data.seats.used >= data.seats.allowance
  const stopped = isTrialUsed ? t.trialUsed : isTrialFull ? t.trialFull : t.stopped[data.state]
  if (!stopped) return <Full of="seats" used={data.seats.used} limit={data.seats.allowance} />
  return (
    <div class={css.notice} role="status">
      <p>{stopped}</p>
      <Link href="/billing">{t.toBilling}</Link>
    </div>
  )
}

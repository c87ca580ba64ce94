import { CircleAlert, FileSearch } from 'lucide-preact'
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { Refused } from '../api/client.ts'
import { checkoutOf, requestIdOf, sentenceOf } from '../api/problems.ts'
import { useWords } from '../language.ts'
import { Button, ButtonLink } from './button.tsx'
import css from './states.module.css'
import { NotActive } from './unreadable.tsx'
import { words } from './words.ts'
import { useWrong, Wrong } from './wrong.tsx'

const SLOW_MS = 4_000

/** What stands where something is being loaded. */
export function Skeleton({ rows = 4 }: { rows?: number }) {
  const t = useWords(words)
  const [isSlow, set] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => set(true), SLOW_MS)
    return () => clearTimeout(timer)
  }, [])
  return (
    <div class={css.skeleton} role="status" aria-label={t.loading}>
      {Array.from({ length: rows }, (_, n) => (
        <i key={n} />
      ))}
      {isSlow && <p>{t.slow}</p>}
    </div>
  )
}

interface EmptyProps {
  title: string
  /** What to do about it. */
  lead?: string
  action?: { label: string; href: string }
  /** It is all that the page shows, so that its title is the page's. */
  isPage?: boolean
  children?: ComponentChildren
}

/** What stands where there is nothing. */
export const Empty = ({ title, lead, action, isPage = false, children }: EmptyProps) => (
  <div class={css.empty}>
    <FileSearch size={34} aria-hidden="true" />
    {isPage ? <h1>{title}</h1> : <h2>{title}</h2>}
    {lead && <p>{lead}</p>}
    {children}
    {action && (
      <ButtonLink href={action.href} kind="primary" needs={action.href === '/connect' ? 'admin' : undefined}>
        {action.label}
      </ButtonLink>
    )}
  </div>
)

interface FailedProps {
  error: Error
  retry?: () => unknown
  isPage?: boolean
}

/**
 * What stands where something could not be loaded. To try again helps neither an RFC whose connection is not active nor an address with a
 * wrong filter.
 */
export function Failed(props: FailedProps) {
  const { error, isPage = false } = props
  const wrong = useWrong(error)
  if (wrong.length > 0) return <Wrong error={error} names={wrong} isPage={isPage} />
  const sorry = <Sorry {...props} />
  const isShut = error instanceof Refused && error.problem?.code === 'fiscal_entity.not_active'
  return isShut ? <NotActive isPage={isPage} otherwise={sorry} /> : sorry
}

/** Why it could not, the id of the request, and a way to try again. */
function Sorry({ error, retry, isPage = false }: FailedProps) {
  const t = useWords(words)
  const id = requestIdOf(error)
  const wait = error instanceof Refused ? error.retryAfterSeconds : null
  return (
    <div class={css.empty} role="alert">
      <CircleAlert size={34} aria-hidden="true" />
      {isPage ? <h1>{t.failed}</h1> : <h2>{t.failed}</h2>}
      <p>
        {sentenceOf(error)} {wait !== null && t.wait(wait)}
      </p>
      {id && <code>{t.request(id)}</code>}
      {retry && <Button onClick={() => void retry()}>{t.retry}</Button>}
    </div>
  )
}

/** Why a form or a button was refused, beside it. With 402 it links to where what is missing can be bought, or to the plans. */
export function Problem({ error }: { error: Error | null }) {
  const t = useWords(words)
  if (!error) return null
  const id = requestIdOf(error)
  const checkout = checkoutOf(error)
  return (
    <div class={css.problem} role="alert">
      <p>{sentenceOf(error)}</p>
      {checkout && (
        <a href={checkout} target="_blank" rel="noreferrer">
          {t.buy}
        </a>
      )}
      {!checkout && error instanceof Refused && error.status === 402 && <Link href="/billing">{t.toBilling}</Link>}
      {id && <code>{t.request(id)}</code>}
    </div>
  )
}

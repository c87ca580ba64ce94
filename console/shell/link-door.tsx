import { useLocation } from 'wouter-preact'
import { holderOf, type Session, session } from '../api/client.ts'
import { enter, forget } from '../api/queries.ts'
import { useWords } from '../language.ts'
import { Button } from '../parts/button.tsx'
import { Facts } from '../parts/page.tsx'
import { Problem, Skeleton } from '../parts/states.tsx'
import css from './door.module.css'
import { linkWords } from './link-words.ts'
import { useLookedUp } from './looked-up.ts'
import { words } from './words.ts'

const personOf = ({ person, api_key }: Session): string => (person ? `${person.name} (${person.email})` : api_key)

/**
 * What a sign-in link would do, and the question whether to: anybody can send a link to anybody, and who does not notice works in another's
 * organization.
 */
export function LinkDoor({ link, current, done }: { link: string; current: Session | null; done: () => void }) {
  const t = useWords(linkWords)
  const { roles } = useWords(words)
  const [, go] = useLocation()
  const { found: holder, error, isBusy, act } = useLookedUp(link, holderOf)
  const use = () =>
    act(async () => {
      const view = await session('POST', { link })
      if (!view) return
      if (current) {
        // The address names things of the other organization.
        forget(false)
        go('/')
      }
      enter(view)
      done()
    })
  return (
    <main id="main" class={css.door} tabIndex={-1}>
      <div class={css.card}>
        <h1>{t.title}</h1>
        <Problem error={error} />
        {!holder && !error && (
          <>
            <p role="status">{t.looking}</p>
            <Skeleton rows={1} />
          </>
        )}
        {holder && (
          <>
            <p>{t.lead}</p>
            <Facts
              facts={[
                [t.organization, <b key="organization">{holder.organization.name}</b>],
                [t.person, personOf(holder)],
                [t.role, roles[holder.role]],
                [t.key, <code key="key">{holder.api_key}</code>],
              ]}
            />
            <p class={css.note}>{t.care}</p>
          </>
        )}
        {current && <p>{t.already(personOf(current), current.organization.name)}</p>}
        {holder && (
          <Button kind="primary" isBusy={isBusy} onClick={use}>
            {current ? t.change(holder.organization.name) : t.enter(holder.organization.name)}
          </Button>
        )}
        <Button onClick={done}>{current ? t.stay(current.organization.name) : t.refuse}</Button>
      </div>
    </main>
  )
}

import { useLocation } from 'wouter-preact'
import { type Session, session, signInLinkOf } from '../api/client.ts'
import { enter, forget } from '../api/queries.ts'
import { useWords } from '../language.ts'
import { Button } from '../parts/button.tsx'
import { Problem, Skeleton } from '../parts/states.tsx'
import css from './door.module.css'
import { linkWords } from './link-words.ts'
import { useLookedUp } from './looked-up.ts'
import { words } from './words.ts'

/** Whose the link of a mail is, and which of the person's organizations it is to enter: opening the link alone signs nobody in. */
export function EnterDoor({ token, current, done }: { token: string; current: Session | null; done: () => void }) {
  const t = useWords(linkWords)
  const { roles } = useWords(words)
  const [, go] = useLocation()
  const { found, error, isBusy, act } = useLookedUp(token, signInLinkOf)
  const use = (organization_id: string) =>
    act(async () => {
      const view = await session('POST', { token, organization_id })
      if (!view) return
      if (current) {
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
        {!found && !error && (
          <>
            <p role="status">{t.looking}</p>
            <Skeleton rows={1} />
          </>
        )}
        {found && <p>{found.organizations.length > 0 ? t.choose(found.email) : t.nowhere(found.email)}</p>}
        {found?.organizations.map(({ id, name, role }, n) => (
          <Button key={id} kind={n === 0 ? 'primary' : 'plain'} isBusy={isBusy} onClick={() => use(id)}>
            {t.enter(name)} · {roles[role]}
          </Button>
        ))}
        <Button onClick={done}>{current ? t.stay(current.organization.name) : t.refuse}</Button>
      </div>
    </main>
  )
}

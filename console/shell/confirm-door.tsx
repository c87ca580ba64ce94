import { useState } from 'preact/hooks'
import { answer, api, confirmationOf } from '../api/client.ts'
import { useWords } from '../language.ts'
import { Button } from '../parts/button.tsx'
import { Facts } from '../parts/page.tsx'
import { Problem, Skeleton } from '../parts/states.tsx'
import { confirmWords } from './confirm-words.ts'
import css from './door.module.css'
import { useLookedUp } from './looked-up.ts'

/** Whose address a link confirms, and the question whether to: a stranger may have signed up with the address of whoever reads the mail. */
export function ConfirmDoor({ token, done }: { token: string; done: () => void }) {
  const t = useWords(confirmWords)
  const { found: of, error, isBusy, act } = useLookedUp(token, confirmationOf)
  const [confirmed, end] = useState<string | null>(null)
  const isConfirmed = confirmed === token
  const confirm = () => act(() => answer(api.POST('/v1/auth/email/confirm', { body: { token } })).then(() => end(token)))
  return (
    <main id="main" class={css.door} tabIndex={-1}>
      <div class={css.card}>
        <h1>{t.title}</h1>
        <Problem error={error} />
        {!of && !error && (
          <>
            <p role="status">{t.looking}</p>
            <Skeleton rows={1} />
          </>
        )}
        {of && !isConfirmed && (
          <>
            <p>{t.lead}</p>
            <Facts
              facts={[
                [t.organization, <b key="organization">{of.organization.name}</b>],
                [t.name, of.name],
                [t.email, of.email],
              ]}
            />
            <p class={css.note}>{t.care}</p>
            <Button kind="primary" isBusy={isBusy} onClick={confirm}>
              {t.confirm}
            </Button>
          </>
        )}
        {of && isConfirmed && <p role="status">{t.confirmed(of.email)}</p>}
        <Button kind={isConfirmed ? 'primary' : 'plain'} onClick={done}>
          {of && !isConfirmed ? t.refuse : t.go}
        </Button>
      </div>
    </main>
  )
}

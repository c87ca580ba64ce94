import { useEffect, useState } from 'preact/hooks'
import { answer, api, type ConfirmationView, confirmationOf } from '../api/client.ts'
import { useWords } from '../language.ts'
import { Button } from '../parts/button.tsx'
import { Facts } from '../parts/page.tsx'
import { Problem, Skeleton } from '../parts/states.tsx'
import { confirmWords } from './confirm-words.ts'
import css from './door.module.css'

/** Whose address a link confirms, and the question whether to: a stranger may have signed up with the address of whoever reads the mail. */
export function ConfirmDoor({ token, done }: { token: string; done: () => void }) {
  const t = useWords(confirmWords)
  const [of, show] = useState<ConfirmationView | null>(null)
  const [error, fail] = useState<Error | null>(null)
  const [isBusy, work] = useState(false)
  const [isConfirmed, end] = useState(false)
  useEffect(() => {
    let isLeft = false
    show(null)
    fail(null)
    end(false)
    confirmationOf(token).then(
      (view) => isLeft || show(view),
      (refused: Error) => isLeft || fail(refused),
    )
    return () => {
      isLeft = true
    }
  }, [token])
  const confirm = () => {
    fail(null)
    work(true)
    answer(api.POST('/v1/auth/email/confirm', { body: { token } }))
      .then(() => end(true), fail)
      .finally(() => work(false))
  }
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

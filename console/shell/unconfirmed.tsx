import { useEffect } from 'preact/hooks'
import { answer, api, type Session } from '../api/client.ts'
import { useSend } from '../api/queries.ts'
import { useWords } from '../language.ts'
import { Button } from '../parts/button.tsx'
import { Problem } from '../parts/states.tsx'
import { words } from './words.ts'

/** Says that the address of the sign-up waits for its confirmation, which happens in another window: coming back looks again. */
export function Unconfirmed({ role, refetch }: { role: Session['role']; refetch: () => unknown }) {
  const t = useWords(words)
  const sending = useSend((_: undefined, headers) => answer(api.POST('/v1/auth/email/resend', { headers })))
  useEffect(() => {
    const look = () => void refetch()
    addEventListener('focus', look)
    return () => removeEventListener('focus', look)
  }, [refetch])
  return (
    <>
      <p>{sending.data ? t.sentAgain(sending.data.email) : t.unconfirmed}</p>
      <Problem error={sending.error} />
      {role !== 'member' && !sending.data && (
        <p>
          <Button isBusy={sending.isPending} onClick={() => sending.mutate(undefined)}>
            {t.sendAgain}
          </Button>
        </p>
      )}
    </>
  )
}

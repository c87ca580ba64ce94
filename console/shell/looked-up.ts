import { useEffect, useState } from 'preact/hooks'

/**
 * What a link in the address is about, asked before it is used. No query keeps it: a link that is refused does not end the session. `act`
 * then uses the link; a refusal of it is shown in the same place.
 */
export function useLookedUp<T>(text: string, look: (text: string) => Promise<T>) {
  const [found, show] = useState<T | null>(null)
  const [error, fail] = useState<Error | null>(null)
  const [isBusy, work] = useState(false)
  useEffect(() => {
    let isLeft = false
    show(null)
    fail(null)
    look(text).then(
      (view) => isLeft || show(() => view),
      (refused: Error) => isLeft || fail(refused),
    )
    return () => {
      isLeft = true
    }
  }, [text, look])
  const act = (use: () => Promise<unknown>) => {
    fail(null)
    work(true)
    use()
      .catch(fail)
      .finally(() => work(false))
  }
  return { found, error, isBusy, act }
}

import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { useWords } from '../language.ts'
import css from './shell.module.css'
import { words } from './words.ts'

/** Says that the browser has no network, for as long as it has none, and what else holds for every page. */
export function Offline({ children }: { children?: ComponentChildren }) {
  const t = useWords(words)
  const [isOffline, set] = useState(!navigator.onLine)
  useEffect(() => {
    const look = () => set(!navigator.onLine)
    addEventListener('online', look)
    addEventListener('offline', look)
    return () => {
      removeEventListener('online', look)
      removeEventListener('offline', look)
    }
  }, [])
  return (
    <div role="status" class={css.offline}>
      {isOffline && <p>{t.offline}</p>}
      {children}
    </div>
  )
}

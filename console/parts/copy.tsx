import { Check, Copy as CopyIcon } from 'lucide-preact'
import { useState } from 'preact/hooks'
import { useWords } from '../language.ts'
import { Button } from './button.tsx'
import { words } from './words.ts'

const SHOWN_MS = 2_000

/** Copies a text, and says so. */
export function Copy({ text, label }: { text: string; label?: string }) {
  const t = useWords(words)
  const [isDone, set] = useState(false)
  const copy = () =>
    void navigator.clipboard.writeText(text).then(() => {
      set(true)
      setTimeout(() => set(false), SHOWN_MS)
    })
  return (
    <Button small onClick={copy}>
      {isDone ? <Check size={15} aria-hidden="true" /> : <CopyIcon size={15} aria-hidden="true" />}
      <span role="status">{isDone ? t.copied : (label ?? t.copy)}</span>
    </Button>
  )
}

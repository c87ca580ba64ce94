import { X } from 'lucide-preact'
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { useWords } from '../language.ts'
import { IconButton } from './button.tsx'
import css from './dialog.module.css'
import { words } from './words.ts'

/** A question above the page. Rendered while it is open; Escape and the cross close it, and the focus goes back by itself. */
export function Dialog({ title, close, children }: { title: string; close: () => void; children: ComponentChildren }) {
  const t = useWords(words)
  const id = useId()
  const dialog = useRef<HTMLDialogElement>(null)
  const isGone = useRef(false)
  useEffect(() => {
    const own = dialog.current
    own?.showModal()
    return () => {
      isGone.current = true
      own?.close()
    }
  }, [])
  // Its end is told a moment later, when another page may be open already.
  const closed = () => isGone.current || close()
  return (
    <dialog ref={dialog} class={css.dialog} aria-labelledby={id} onClose={closed} onCancel={close}>
      <header>
        <h2 id={id}>{title}</h2>
        <IconButton label={t.close} onClick={close}>
          <X size={18} aria-hidden="true" />
        </IconButton>
      </header>
      {children}
    </dialog>
  )
}

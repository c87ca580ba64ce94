import type { ComponentChildren } from 'preact'
import { useWords } from '../../../language.ts'
import { Button } from '../../../parts/button.tsx'
import { Dialog } from '../../../parts/dialog.tsx'
import { Actions } from '../../../parts/field.tsx'
import { Problem } from '../../../parts/states.tsx'
import css from './automation.module.css'
import { words } from './words.ts'

interface Props {
  title: string
  lead: ComponentChildren
  /** What the button says that does it. */
  label: string
  send: { isPending: boolean; error: Error | null; mutate: (input: undefined, options: { onSuccess: () => void }) => void }
  done: () => void
  close: () => void
}

/** Asks before something that cannot be taken back. */
export function Ask({ title, lead, label, send, done, close }: Props) {
  const t = useWords(words)
  return (
    <Dialog title={title} close={close}>
      <div class={css.stack}>
        <p>{lead}</p>
        <Problem error={send.error} />
        <Actions>
          <Button kind="danger" needs="admin" isBusy={send.isPending} onClick={() => send.mutate(undefined, { onSuccess: done })}>
            {label}
          </Button>
          <Button onClick={close}>{t.cancel}</Button>
        </Actions>
      </div>
    </Dialog>
  )
}

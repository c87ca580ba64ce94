import { X } from 'lucide-preact'
import { useState } from 'preact/hooks'
import { useWords } from '../../../language.ts'
import { Button } from '../../../parts/button.tsx'
import chips from '../../../parts/chips.module.css'
import { Dialog } from '../../../parts/dialog.tsx'
import { Actions, Field, Form } from '../../../parts/field.tsx'
import { keepView, keptViews } from './kept-views.ts'
import { words } from './words.ts'

/** The searches that somebody gave a name, and a way to name the one that is shown. */
export function Views({ now, open }: { now: string; open: (search: string) => void }) {
  const t = useWords(words)
  const [views, show] = useState(() => keptViews(localStorage))
  const [isNaming, ask] = useState(false)
  const isKept = views.some(({ search }) => search === now)
  if (views.length === 0 && now === '') return null
  return (
    <div class={chips.chips} role="group" aria-label={t.views}>
      {views.map(({ name, search }) => (
        <span key={name} class={chips.chip}>
          <Button kind="quiet" small aria-pressed={search === now} onClick={() => open(search)}>
            {name}
          </Button>
          <button type="button" aria-label={t.forgetView(name)} onClick={() => show(keepView(localStorage, name, null))}>
            <X size={14} aria-hidden="true" />
          </button>
        </span>
      ))}
      {now !== '' && !isKept && (
        <Button kind="quiet" small onClick={() => ask(true)}>
          {t.keepView}
        </Button>
      )}
      {isNaming && (
        <Dialog title={t.keepView} close={() => ask(false)}>
          <Form
            onSubmit={(form) => {
              show(keepView(localStorage, String(form.get('name')).trim(), now))
              ask(false)
            }}
          >
            <Field label={t.viewName} hint={t.viewHint} name="name" required maxLength={60} autocomplete="off" />
            <Actions>
              <Button kind="primary" type="submit">
                {t.keep}
              </Button>
              <Button onClick={() => ask(false)}>{t.cancelView}</Button>
            </Actions>
          </Form>
        </Dialog>
      )}
    </div>
  )
}

import { Plus, X } from 'lucide-preact'
import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import { useWords } from '../language.ts'
import { Button } from './button.tsx'
import css from './chips.module.css'
import { words } from './words.ts'

export interface Chip {
  /** The parameter of the API that it is. */
  name: string
  label: string
  value: string
}

interface Props {
  chips: readonly Chip[]
  remove: (name: string) => void
  clear: () => void
  /** The fields that set filters: they apply as they change, and the form is closed with Escape or its button. */
  children: ComponentChildren
}

/** The filters that a page has, each one to take away, and a form with all there are. */
export function Chips({ chips, remove, clear, children }: Props) {
  const t = useWords(words)
  const id = useId()
  return (
    <div class={css.chips} role="group" aria-label={t.filters}>
      {chips.map(({ name, label, value }) => (
        <span key={name} class={css.chip}>
          <span>{label}</span>
          <b>{value}</b>
          <button type="button" aria-label={t.removeFilter(label)} onClick={() => remove(name)}>
            <X size={14} aria-hidden="true" />
          </button>
        </span>
      ))}
      <button type="button" class={css.add} popovertarget={id} data-filter>
        <Plus size={15} aria-hidden="true" />
        {t.filter}
      </button>
      {chips.length > 0 && (
        <Button kind="quiet" small onClick={clear}>
          {t.clearFilters}
        </Button>
      )}
      <form
        id={id}
        popover="auto"
        class={css.form}
        onSubmit={(event) => {
          event.preventDefault()
          event.currentTarget.hidePopover()
        }}
      >
        {children}
        <Button type="submit" kind="primary">
          {t.apply}
        </Button>
      </form>
    </div>
  )
}

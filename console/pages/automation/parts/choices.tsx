import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import css from './automation.module.css'

interface Choice {
  value: string
  name: ComponentChildren
  note?: ComponentChildren
  /** It is chosen always, or never. */
  fixed?: boolean | undefined
}

interface Props {
  legend: string
  choices: readonly Choice[]
  chosen: readonly string[]
  set: (chosen: string[]) => void
  fault?: string | undefined
  hint?: string
  /** All of them are seen at once: a list that scrolls hides that there are more. */
  isWhole?: boolean
}

/** Any of several things, under one heading. */
export function Choices({ legend, choices, chosen, set, fault, hint, isWhole = false }: Props) {
  const id = useId()
  const toggle = (value: string, isOn: boolean) =>
    set(
      isOn ? choices.map((one) => one.value).filter((one) => one === value || chosen.includes(one)) : chosen.filter((one) => one !== value),
    )
  return (
    <fieldset class={css.choices} aria-describedby={fault ? id : undefined}>
      <legend>{legend}</legend>
      {hint && <small>{hint}</small>}
      <div class={isWhole ? css.whole : css.scroll}>
        {choices.map(({ value, name, note, fixed }) => (
          <label key={value}>
            <input
              type="checkbox"
              checked={fixed ?? chosen.includes(value)}
              disabled={fixed !== undefined}
              onChange={({ currentTarget }) => toggle(value, currentTarget.checked)}
            />
            <span>
              {name}
              {note && <small>{note}</small>}
            </span>
          </label>
        ))}
      </div>
      {fault && (
        <p id={id} class={css.fault} role="alert">
          {fault}
        </p>
      )}
    </fieldset>
  )
}

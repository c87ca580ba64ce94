import css from './switch.module.css'

interface Props<Value extends string> {
  /** What is chosen, for whoever hears it. */
  label: string
  value: Value
  choices: readonly (readonly [value: Value, name: string])[]
  choose: (value: Value) => void
}

/** A few choices beside one another, of which one holds. */
export const Switch = <Value extends string>({ label, value, choices, choose }: Props<Value>) => (
  <div class={css.switch} role="group" aria-label={label}>
    {choices.map(([one, name]) => (
      <button key={one} type="button" aria-pressed={one === value} onClick={() => choose(one)}>
        {name}
      </button>
    ))}
  </div>
)

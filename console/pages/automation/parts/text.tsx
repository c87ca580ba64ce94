import css from './automation.module.css'

/** A text of a program, which scrolls by keyboard as well. */
export const Text = ({ label, text }: { label: string; text: string }) => (
  <section class={css.code} tabIndex={0} aria-label={label}>
    <pre>{text}</pre>
  </section>
)

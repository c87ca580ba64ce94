import css from './surface.module.css'

/** The page of the console with what a figure sums. */
export const pageOf = (drilldown: string): string => drilldown.replace(/^\/v1/, '/console')

/** Zero in whatever way it is written: it leads to its documents, and calls less. */
const isNothing = (text: string): boolean => !/[1-9]/.test(text)

/** A figure that leads to its documents, where the API says which they are. */
export const Drill = ({ to, label, text }: { to: string | undefined; label: string; text: string }) =>
  to ? (
    <a href={pageOf(to)} class={isNothing(text) ? css.nil : undefined} aria-label={`${label}: ${text}`}>
      {text}
    </a>
  ) : isNothing(text) ? (
    <span class={css.nil}>{text}</span>
  ) : (
    text
  )

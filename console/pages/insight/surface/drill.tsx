/** The page of the console with what a figure sums. */
export const pageOf = (drilldown: string): string => drilldown.replace(/^\/v1/, '/console')

/** A figure that leads to its documents, where the API says which they are. */
export const Drill = ({ to, label, text }: { to: string | undefined; label: string; text: string }) =>
  to ? (
    <a href={pageOf(to)} aria-label={`${label}: ${text}`}>
      {text}
    </a>
  ) : (
    text
  )

import type { ComponentChildren } from 'preact'
import { decimal, NOTHING } from '../../../format.ts'
import { PAGES } from '../../../pages.ts'

const CONTENT = /^\/v1\/fiscal-entities\/[^/]+\/documents\/[^/]+\/content$/

/** The page of the console with what a figure sums; of a tax document the file; undefined where the console has no page for it. */
export function pageOf(drilldown: string | undefined): string | undefined {
  if (!drilldown) return undefined
  if (CONTENT.test(drilldown)) return drilldown
  const page = drilldown.replace(/^\/v1/, '')
  const [path] = page.split('?')
  return PAGES.some((one) => one.path === path) ? `/console${page}` : undefined
}

interface Props {
  to: string | undefined
  /** What the figure is, for whoever hears the link. */
  label: string
  text: string
  children?: ComponentChildren
}

/** A figure that leads to its documents, where the API says which they are. */
export function Drill({ to, label, text, children = text }: Props) {
  const href = pageOf(to)
  return href && text !== NOTHING ? (
    <a href={href} aria-label={`${label}: ${text}`} download={CONTENT.test(href) || undefined}>
      {children}
    </a>
  ) : (
    children
  )
}

/** Percent, as the API says it. */
export const rate = (text: string | null): string => (text === null ? NOTHING : `${decimal(text)} %`)

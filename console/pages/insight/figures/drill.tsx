import type { ComponentChildren } from 'preact'
import type { DataStatus } from '../../../api/routes.d.ts'
import { decimal, NOTHING } from '../../../format.ts'
import { PAGES } from '../../../pages.ts'
import css from './figures.module.css'

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

/** Zero in whatever way it is written: it leads to its documents, and calls less. */
const isNothing = (text: string): boolean => !/[1-9]/.test(text)

/** A figure as it is shown: a zero of what was not downloaded is none. */
export const unlessUnknown = (text: string, isKnown: boolean): string => (isKnown || !isNothing(text) ? text : NOTHING)

/** Whether everything of a month was downloaded. */
export const isDownloaded = (status: DataStatus): boolean => status !== 'missing' && status !== 'downloading'

/** A figure that leads to its documents, where the API says which they are. */
export function Drill({ to, label, text, children = text }: Props) {
  const href = pageOf(to)
  const look = isNothing(text) ? css.nil : undefined
  if (!href || text === NOTHING) return look && children === text ? <span class={look}>{text}</span> : children
  return (
    <a href={href} class={look} aria-label={`${label}: ${text}`} download={CONTENT.test(href) || undefined}>
      {children}
    </a>
  )
}

/** Percent, as the API says it. */
export const rate = (text: string | null): string => (text === null ? NOTHING : `${decimal(text)} %`)

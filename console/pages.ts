import type { LucideIcon } from 'lucide-preact'
import type { ComponentType } from 'preact'

/**
 * A page is a folder, `pages/{group}/{name}/`, whose `page.ts` exports one of these as `page`. That is all that registers it: the menu, the
 * router and the tests find it there.
 */
export interface Page {
  /** Below /console: `/cfdi/:uuid`. Parts that begin with a colon are passed to the page as properties. */
  path: string
  /** Its name, in the menu and as the title of the window. */
  name: { es: string; en: string }
  /** In the menu; a page without one is reached from others. */
  icon?: LucideIcon
  /** Its place in the menu of its group. */
  order?: number
  load: () => Promise<{ default: ComponentType<never> }>
}

export const GROUPS = ['work', 'insight', 'automation', 'account'] as const
export type Group = (typeof GROUPS)[number]

const found = import.meta.glob<Page>('./pages/*/*/page.ts', { eager: true, import: 'page' })

export const PAGES: readonly (Page & { group: Group })[] = Object.entries(found)
  .map(([file, page]) => ({ ...page, group: file.split('/')[2] as Group }))
  .sort((one, other) => (one.order ?? 0) - (other.order ?? 0))

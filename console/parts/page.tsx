import type { ComponentChildren } from 'preact'
import { useWords } from '../language.ts'
import css from './page.module.css'
import { useTab } from './tab.ts'
import { words } from './words.ts'

interface TitleProps {
  text: string
  lead?: ComponentChildren
  /** Whether it is the name of a thing, as which the tab is known. */
  isThing?: boolean
  /** The RFC that the page is of. */
  of?: string | undefined
  children?: ComponentChildren
}

/** The head of a page: its name, a sentence, and what can be done on the right. */
export function Title({ text, lead, isThing = false, of, children }: TitleProps) {
  useTab(isThing ? text : undefined, of)
  return (
    <header class={css.title}>
      <div>
        <h1>{text}</h1>
        {lead && <p>{lead}</p>}
      </div>
      {children && <div class={css.actions}>{children}</div>}
    </header>
  )
}

/** A surface with a heading. `flush` lets a table reach its edges. */
export const Panel = ({
  title,
  lead,
  actions,
  flush = false,
  children,
}: {
  title?: ComponentChildren
  lead?: ComponentChildren
  actions?: ComponentChildren
  flush?: boolean
  children: ComponentChildren
}) => (
  <section class={`${css.panel} ${flush ? css.flush : ''}`}>
    {(title || actions) && (
      <header>
        <div>
          {title && <h2>{title}</h2>}
          {lead && <p>{lead}</p>}
        </div>
        {actions && <div class={css.actions}>{actions}</div>}
      </header>
    )}
    {children}
  </section>
)

export interface Figure {
  name: string
  value: ComponentChildren
  /** What stands small beside it. */
  note?: ComponentChildren
}

/** A row of large figures. */
export const Figures = ({ figures }: { figures: readonly Figure[] }) => (
  <dl class={css.figures}>
    {figures.map(({ name, value, note }) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>
          {value} {note && <small>{note}</small>}
        </dd>
      </div>
    ))}
  </dl>
)

/** Names and what they are, one under the other. */
export const Facts = ({ facts }: { facts: readonly (readonly [name: string, value: ComponentChildren])[] }) => (
  <dl class={css.facts}>
    {facts.map(([name, value]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
)

/** What a page shows, as the call of the API that anybody can make. */
export function Call({ call }: { call: string }) {
  const t = useWords(words)
  return (
    <p class={css.call}>
      {t.same} <code>{call}</code>
    </p>
  )
}

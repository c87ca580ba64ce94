import type { ButtonHTMLAttributes, ComponentChildren } from 'preact'
import { useContext } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { useWords } from '../language.ts'
import { SessionContext } from '../session.ts'
import css from './button.module.css'
import { words } from './words.ts'

type Kind = 'plain' | 'primary' | 'danger' | 'quiet'

interface Props extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'icon'> {
  kind?: Kind
  small?: boolean
  /** Whose role it takes. Others see it disabled, with the reason as its title. */
  needs?: 'admin' | 'owner'
  /** While what it started is not done. */
  isBusy?: boolean
  children: ComponentChildren
}

const classOf = (kind: Kind, small: boolean): string => `${css.button} ${css[kind]} ${small ? css.small : ''}`

/** Why who is signed in may not do what needs a role; null when they may. */
function useRefusal(needs: Props['needs']): string | null {
  const role = useContext(SessionContext)?.role
  const t = useWords(words)
  return needs === 'owner' && role !== 'owner' ? t.ownersOnly : needs && role === 'member' ? t.membersRead : null
}

export function Button({ kind = 'plain', small = false, needs, isBusy = false, disabled, title, children, ...rest }: Props) {
  const refused = useRefusal(needs)
  return (
    <button
      type="button"
      {...rest}
      class={classOf(kind, small)}
      disabled={Boolean(disabled) || isBusy || refused !== null}
      aria-busy={isBusy}
      title={refused ?? title}
    >
      {children}
    </button>
  )
}

interface IconProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'class' | 'icon'> {
  label: string
  class?: string | undefined
  children: ComponentChildren
}

/** A button with a picture alone: its label is read aloud, and shown as its title. */
export const IconButton = ({ label, class: more = '', children, ...rest }: IconProps) => (
  <button type="button" {...rest} class={`${css.icon} ${more}`} aria-label={label} title={label}>
    {children}
  </button>
)

/** Looks like a button and goes to another page of the console. Whose role does not suffice sees it disabled, with the reason as its title. */
export function ButtonLink({
  href,
  kind = 'plain',
  small = false,
  needs,
  children,
}: {
  href: string
  kind?: Kind
  small?: boolean
  needs?: Props['needs']
  children: ComponentChildren
}) {
  const refused = useRefusal(needs)
  return refused ? (
    <button type="button" class={classOf(kind, small)} disabled title={refused}>
      {children}
    </button>
  ) : (
    <Link href={href} class={classOf(kind, small)}>
      {children}
    </Link>
  )
}

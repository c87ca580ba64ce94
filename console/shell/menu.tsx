import { useQuery } from '@tanstack/preact-query'
import { Link, useLocation } from 'wouter-preact'
import { openAlertsQuery } from '../api/alerts.ts'
import { useWords } from '../language.ts'
import { GROUPS, PAGES } from '../pages.ts'
import { useSession } from '../session.ts'
import { PageName } from './page-name.tsx'
import css from './shell.module.css'
import { words } from './words.ts'

const NARROW = '(max-width: 860px)'

const SHOWN = PAGES.filter(({ icon }) => icon)

/** The page of the menu that a page belongs to: of those whose path its own begins with, the longest. */
function currentOf(path: string): string | undefined {
  if (path === '/' || path.startsWith('/rfcs/')) return '/'
  const above = SHOWN.map((page) => page.path).filter((one) => path === one || (one !== '/' && path.startsWith(`${one}/`)))
  return above.sort((one, other) => other.length - one.length)[0]
}

const ALERTS = '/alerts'

/** How many alerts wait for somebody, beside the page of the menu that has them; nothing when none does. */
function Waiting() {
  const t = useWords(words)
  const { data } = useQuery(openAlertsQuery)
  if (!data) return null
  return (
    <b class={css.waiting}>
      {data}
      <span>{t.waiting(data)}</span>
    </b>
  )
}

/** Beside the page; on a phone it is a popover that the button at the top opens. */
export function Menu() {
  const t = useWords(words)
  const [path] = useLocation()
  const { is_bound } = useSession()
  const current = currentOf(path)
  const close = () => matchMedia(NARROW).matches && document.getElementById('menu')?.hidePopover()
  return (
    <nav id="menu" class={css.menu} popover="auto" aria-label={t.menu}>
      {GROUPS.map((group) => {
        const pages = SHOWN.filter((page) => page.group === group && !(is_bound && group === 'account'))
        return (
          pages.length > 0 && (
            <section key={group}>
              <h2>{t.groups[group]}</h2>
              <ul>
                {pages.map(({ path: href, icon: Icon, name }) => (
                  <li key={href}>
                    <Link href={href} aria-current={href === current ? 'page' : undefined} onClick={close}>
                      {Icon && <Icon size={17} aria-hidden="true" />}
                      <PageName name={name} />
                      {href === ALERTS && <Waiting />}
                    </Link>
                  </li>
                ))}
              </ul>
            </section>
          )
        )
      })}
    </nav>
  )
}

import { Link, useLocation } from 'wouter-preact'
import { useWords } from '../language.ts'
import { GROUPS, PAGES } from '../pages.ts'
import { PageName } from './page-name.tsx'
import css from './shell.module.css'
import { words } from './words.ts'

const NARROW = '(max-width: 860px)'

const isIn = (path: string, page: string): boolean => path === page || (page !== '/' && path.startsWith(`${page}/`))

/** Beside the page; on a phone it is a popover that the button at the top opens. */
export function Menu() {
  const t = useWords(words)
  const [path] = useLocation()
  const at = path === '/' || path.startsWith('/rfcs/') ? '/' : path
  const close = () => matchMedia(NARROW).matches && document.getElementById('menu')?.hidePopover()
  return (
    <nav id="menu" class={css.menu} popover="auto" aria-label={t.menu}>
      {GROUPS.map((group) => {
        const pages = PAGES.filter((page) => page.group === group && page.icon)
        return (
          pages.length > 0 && (
            <section key={group}>
              <h2>{t.groups[group]}</h2>
              <ul>
                {pages.map(({ path: href, icon: Icon, name }) => (
                  <li key={href}>
                    <Link href={href} aria-current={isIn(at, href) ? 'page' : undefined} onClick={close}>
                      {Icon && <Icon size={17} aria-hidden="true" />}
                      <PageName name={name} />
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

import { Languages, LogOut, Menu as MenuIcon, Moon, Sun } from 'lucide-preact'
import { useState } from 'preact/hooks'
import { Link, useLocation } from 'wouter-preact'
import { changeOrganization, type Session, session } from '../api/client.ts'
import { enter, forget } from '../api/queries.ts'
import { useWords } from '../language.ts'
import { IconButton } from '../parts/button.tsx'
import { isDark, turnTheme } from '../theme.ts'
import css from './shell.module.css'
import { words } from './words.ts'

async function leave(): Promise<void> {
  await session('DELETE').catch(() => null)
  forget(false)
}

/** Chooses another organization of the same person. */
function Organizations({ who }: { who: Session }) {
  const t = useWords(words)
  const [, go] = useLocation()
  const [isBusy, work] = useState(false)
  const change = (id: string) => {
    work(true)
    changeOrganization(id)
      .then(
        (view) => {
          // The address names things of the other organization.
          forget(false)
          go('/')
          enter(view)
        },
        () => forget(true),
      )
      .finally(() => work(false))
  }
  return (
    <select
      aria-label={t.organization}
      value={who.organization.id}
      disabled={isBusy}
      onChange={({ currentTarget }) => change(currentTarget.value)}
    >
      {who.organizations.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </select>
  )
}

export function Top({ session: who, translate }: { session: Session | null; translate: () => void }) {
  const t = useWords(words)
  const [dark, tell] = useState(isDark)
  const Other = dark ? Sun : Moon
  return (
    <header class={css.top}>
      {who && (
        <IconButton class={css.burger} label={t.menu} popovertarget="menu">
          <MenuIcon size={20} aria-hidden="true" />
        </IconButton>
      )}
      <Link class={css.brand} href="/" aria-label={t.product}>
        <svg width="28" height="28" viewBox="0 0 32 32" aria-hidden="true">
          <rect width="32" height="32" rx="8" />
          <path d="M9 22V10h14M9 16h10" />
        </svg>
        <span>{t.product}</span>
      </Link>
      {who?.environment === 'test' && (
        <span class={css.test} title={who.tax_authority === 'sandbox' ? t.invented : undefined}>
          {t.test}
        </span>
      )}
      <span class={css.gap} />
      {who && (
        <span class={css.me}>
          {who.organizations.length > 1 ? <Organizations who={who} /> : <b>{who.organization.name}</b>}
          {t.roles[who.role]}
        </span>
      )}
      <IconButton class={css.language} label={t.languageIn} onClick={translate}>
        <Languages size={18} aria-hidden="true" />
        {t.otherLanguage}
      </IconButton>
      <IconButton
        label={t.theme}
        onClick={() => {
          turnTheme()
          tell(isDark())
        }}
      >
        <Other size={18} aria-hidden="true" />
      </IconButton>
      {who && (
        <IconButton label={t.signOut} onClick={() => void leave()}>
          <LogOut size={18} aria-hidden="true" />
        </IconButton>
      )}
    </header>
  )
}

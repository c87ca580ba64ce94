import { useQuery } from '@tanstack/preact-query'
import { useEffect, useState } from 'preact/hooks'
import { Router } from 'wouter-preact'
import { sessionQuery } from '../api/queries.ts'
import { LanguageContext, language, speak, useWords } from '../language.ts'
import { Failed } from '../parts/states.tsx'
import { SessionContext } from '../session.ts'
import { ConfirmDoor } from './confirm-door.tsx'
import { Door } from './door.tsx'
import { EnterDoor } from './enter-door.tsx'
import { takeLink } from './link.ts'
import { LinkDoor } from './link-door.tsx'
import { Menu } from './menu.tsx'
import { Offline } from './offline.tsx'
import { Pages } from './pages.tsx'
import css from './shell.module.css'
import { Top } from './top.tsx'
import { Unconfirmed } from './unconfirmed.tsx'
import { words } from './words.ts'

const Skip = () => (
  <a class={css.skip} href="#main">
    {useWords(words).skip}
  </a>
)

export function App() {
  const [spoken, turn] = useState(language)
  const [link, hold] = useState(takeLink)
  useEffect(() => {
    const take = () => {
      const given = takeLink()
      if (given !== null) hold(given)
    }
    addEventListener('hashchange', take)
    return () => removeEventListener('hashchange', take)
  }, [])
  const { data, error, refetch, isPending } = useQuery(sessionQuery)
  const translate = () => {
    speak(spoken === 'es' ? 'en' : 'es')
    turn(language())
  }
  if (isPending) return null
  return (
    <LanguageContext.Provider value={spoken}>
      <Router base="/console">
        <div class={css.shell}>
          <Skip />
          <Top session={data ?? null} translate={translate} />
          <Offline>{data?.awaits_confirmation && <Unconfirmed role={data.role} refetch={refetch} />}</Offline>
          {error ? (
            <main id="main" class={css.alone} tabIndex={-1}>
              <Failed isPage error={error} retry={refetch} />
            </main>
          ) : link?.kind === 'confirm' ? (
            <ConfirmDoor
              token={link.text}
              done={() => {
                hold(null)
                void refetch()
              }}
            />
          ) : link?.kind === 'enter' ? (
            <EnterDoor token={link.text} current={data ?? null} done={() => hold(null)} />
          ) : link ? (
            <LinkDoor link={link.text} current={data ?? null} done={() => hold(null)} />
          ) : data ? (
            <SessionContext.Provider value={data}>
              <Menu />
              <Pages />
            </SessionContext.Provider>
          ) : (
            <Door />
          )}
        </div>
      </Router>
    </LanguageContext.Provider>
  )
}

import { lazy, Suspense } from 'preact/compat'
import { useRef, useState } from 'preact/hooks'
import { Link, Route, Switch } from 'wouter-preact'
import { sendSignInLink, session } from '../api/client.ts'
import { ended, enter } from '../api/queries.ts'
import { useWords } from '../language.ts'
import { Button } from '../parts/button.tsx'
import { Field, Form } from '../parts/field.tsx'
import { Problem, Skeleton } from '../parts/states.tsx'
import css from './door.module.css'
import { doorWords } from './door-words.ts'

const SignUp = lazy(() => import('./sign-up.tsx'))

const signIn = async (sent: object): Promise<void> => {
  const view = await session('POST', sent)
  if (view) enter(view)
}

/** Asks for a link to an e-mail address. */
function ByMail() {
  const t = useWords(doorWords)
  const [sent, tell] = useState<{ email: string; token: string | null } | null>(null)
  const [error, fail] = useState<Error | null>(null)
  const [isBusy, work] = useState(false)
  const ask = (email: string) => {
    fail(null)
    work(true)
    sendSignInLink(email)
      .then(({ token }) => tell({ email, token }), fail)
      .finally(() => work(false))
  }
  return (
    <>
      <p>{t.mailLead}</p>
      <Problem error={error} />
      <Form onSubmit={(form) => ask(String(form.get('email')))}>
        <Field label={t.email} name="email" type="email" autocomplete="email" required />
        <Button kind="primary" type="submit" isBusy={isBusy}>
          {t.send}
        </Button>
      </Form>
      {sent && (
        <p class={css.note} role="status">
          {sent.token ? t.shown : t.sent(sent.email)} {sent.token && <a href={`#enter=${sent.token}`}>{t.open}</a>}
        </p>
      )}
    </>
  )
}

function SignIn() {
  const t = useWords(doorWords)
  const [error, fail] = useState<Error | null>(null)
  const [isBusy, work] = useState(false)
  const form = useRef<HTMLDivElement>(null)
  const attempt = (sent: object) => {
    fail(null)
    work(true)
    signIn(sent)
      .catch(fail)
      .finally(() => work(false))
  }
  const paste = (event: ClipboardEvent) => {
    const [api_key, api_secret, more] = event.clipboardData?.getData('text').trim().split(':') ?? []
    if (!api_key || !api_secret || more !== undefined) return
    event.preventDefault()
    const [key, secret] = form.current!.querySelectorAll('input')
    key!.value = api_key
    secret!.value = api_secret
    secret!.focus()
  }
  return (
    <div class={css.card} ref={form}>
      <h1>{t.title}</h1>
      {ended.unasked && !error && (
        <p class={css.note} role="status">
          {t.ended}
        </p>
      )}
      <ByMail />
      <h2>{t.byCredential}</h2>
      <p>{t.lead}</p>
      <Problem error={error} />
      <Form onSubmit={(sent) => attempt({ api_key: sent.get('username'), api_secret: sent.get('password') })}>
        <Field label={t.key} hint={t.paste} name="username" autocomplete="username" spellcheck={false} required onPaste={paste} />
        <Field label={t.secret} name="password" type="password" autocomplete="current-password" required />
        <Button type="submit" isBusy={isBusy}>
          {t.submit}
        </Button>
      </Form>
      <p>
        {t.isNew} <Link href="/sign-up">{t.create}</Link>
      </p>
      <p>
        <Link href="/invitation">{t.invited}</Link>
      </p>
      <p>
        <small>{t.lost}</small>
      </p>
    </div>
  )
}

/** The ways in beside a sign-in link: a credential, a new account, an invitation. Whatever page was asked for is shown afterwards. */
export const Door = () => (
  <main id="main" class={css.door} tabIndex={-1}>
    <Suspense fallback={<Skeleton rows={1} />}>
      <Switch>
        <Route path="/sign-up">
          <SignUp />
        </Route>
        <Route path="/invitation">
          <SignUp isInvited />
        </Route>
        <Route>
          <SignIn />
        </Route>
      </Switch>
    </Suspense>
  </main>
)

import { useEffect, useState } from 'preact/hooks'
import { Link, useLocation } from 'wouter-preact'
import { answer, api, type InvitationView, invitationOf, session } from '../api/client.ts'
import { faultOf } from '../api/problems.ts'
import { enter, useSend } from '../api/queries.ts'
import type { Signup } from '../api/routes.d.ts'
import { useWords } from '../language.ts'
import { Button } from '../parts/button.tsx'
import { Copy } from '../parts/copy.tsx'
import { Field, Form } from '../parts/field.tsx'
import { Facts } from '../parts/page.tsx'
import { Problem } from '../parts/states.tsx'
import css from './door.module.css'
import { doorWords } from './door-words.ts'
import { words } from './words.ts'

const textOf = (form: FormData, name: string): string => String(form.get(name) ?? '').trim()

/** The code of an invitation, from what follows `#token=` in its link. It is taken from the address at once, so that it stays in no history. */
function takeToken(): string {
  const token = /^#token=([\w.-]+)$/.exec(location.hash)?.[1] ?? ''
  if (token) history.replaceState(null, '', location.pathname)
  return token
}

const join = (form: FormData, isInvited: boolean): Promise<Signup> => {
  const name = textOf(form, 'name')
  return isInvited
    ? answer(api.POST('/v1/auth/invitations/accept', { body: { token: textOf(form, 'token'), name } }))
    : answer(api.POST('/v1/auth/signup', { body: { organization_name: textOf(form, 'organization'), name, email: textOf(form, 'email') } }))
}

/** What the invitation is to, before it is accepted: anybody can send a link to anybody. */
function Invited({ to: { organization, invited_by, role, email } }: { to: InvitationView }) {
  const t = useWords(doorWords)
  const { roles } = useWords(words)
  return (
    <Facts
      facts={[
        [t.toOrganization, <b key="organization">{organization.name}</b>],
        ...(invited_by ? [[t.invitedBy, `${invited_by.name} (${invited_by.email})`] as const] : []),
        [t.role, roles[role]],
        [t.email, email],
      ]}
    />
  )
}

/** The credential is shown once, and signs in. */
function Keep({ made, isInvited }: { made: Signup; isInvited: boolean }) {
  const t = useWords(doorWords)
  const [, go] = useLocation()
  const { api_key, api_secret } = made.credential
  const entering = useSend(async () => {
    const view = await session('POST', { api_key, api_secret })
    if (!view) return
    go(made.member.role === 'owner' ? '/connect' : '/')
    enter(view)
  })
  return (
    <div class={css.card}>
      <h1>{t.keep}</h1>
      <p>{isInvited ? t.keepInvited : t.keepLead}</p>
      {!isInvited && made.organization.email_confirmed_at === null && <p class={css.note}>{t.mailed(made.member.email)}</p>}
      <dl class={css.secret}>
        <dt>{t.key}</dt>
        <dd>
          <code>{api_key}</code>
        </dd>
        <dt>{t.secret}</dt>
        <dd>
          <code>{api_secret}</code>
        </dd>
      </dl>
      <Copy text={`${api_key}:${api_secret}`} label={t.both} />
      <Problem error={entering.error} />
      <Button kind="primary" isBusy={entering.isPending} onClick={() => entering.mutate(undefined)}>
        {made.member.role === 'owner' ? t.go : t.goIn}
      </Button>
    </div>
  )
}

export default function SignUp({ isInvited = false }: { isInvited?: boolean }) {
  const t = useWords(doorWords)
  const [made, keep] = useState<Signup | null>(null)
  const [isBusy, work] = useState(false)
  const [error, fail] = useState<Error | null>(null)
  const [token] = useState(takeToken)
  const [invitation, show] = useState<InvitationView | null>(null)
  const [name, type] = useState('')
  useEffect(() => {
    if (token)
      invitationOf(token).then((view) => {
        show(view)
        type((typed) => typed || view.name || '')
      }, fail)
  }, [token])
  if (made) return <Keep made={made} isInvited={isInvited} />
  const submit = (form: FormData) => {
    work(true)
    fail(null)
    join(form, isInvited)
      .then(keep, fail)
      .finally(() => work(false))
  }
  return (
    <div class={css.card}>
      <h1>{isInvited ? t.invited : t.signUp}</h1>
      <p>{isInvited ? (token ? t.invitedByLink : t.invitedLead) : t.signUpLead}</p>
      {invitation && <Invited to={invitation} />}
      <Problem error={error} />
      <Form onSubmit={submit}>
        {isInvited ? (
          <Field
            label={t.token}
            name="token"
            defaultValue={token}
            required
            spellcheck={false}
            autocomplete="off"
            fault={faultOf(error, 'token')}
          />
        ) : (
          <Field
            label={t.organization}
            name="organization"
            required
            minLength={2}
            maxLength={200}
            autocomplete="organization"
            fault={faultOf(error, 'organization_name')}
          />
        )}
        <Field
          label={t.name}
          name="name"
          value={name}
          onInput={({ currentTarget }) => type(currentTarget.value)}
          required
          maxLength={120}
          autocomplete="name"
          fault={faultOf(error, 'name')}
        />
        {!isInvited && <Field label={t.email} name="email" type="email" required autocomplete="email" fault={faultOf(error, 'email')} />}
        <Button kind="primary" type="submit" isBusy={isBusy}>
          {isInvited ? t.accept : t.begin}
        </Button>
      </Form>
      <p>
        {t.has} <Link href="/">{t.title}</Link>
      </p>
    </div>
  )
}

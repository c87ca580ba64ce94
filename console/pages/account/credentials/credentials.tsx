import { useInfiniteQuery, useQuery } from '@tanstack/preact-query'
import { useState } from 'preact/hooks'
import { answer, api, endSession, type PersonSession, sessionsOfPerson } from '../../../api/client.ts'
import { faultOf } from '../../../api/problems.ts'
import { useSend } from '../../../api/queries.ts'
import type { Credential, CredentialDraft, NewCredential, Role } from '../../../api/routes.d.ts'
import { day, instant } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Badge } from '../../../parts/badge.tsx'
import { Button } from '../../../parts/button.tsx'
import { Dialog } from '../../../parts/dialog.tsx'
import { Actions, Field, Form } from '../../../parts/field.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import { More } from '../../../parts/more.tsx'
import { Call, Facts, Panel, Title } from '../../../parts/page.tsx'
import { Problem } from '../../../parts/states.tsx'
import { Table } from '../../../parts/table.tsx'
import { Room } from '../../../room/room.tsx'
import { useSession, useZone } from '../../../session.ts'
import { RfcChoice, useRfcOf } from '../../automation/parts/rfcs.tsx'
import css from '../account.module.css'
import { startOfDay } from '../days.ts'
import { credentialsQuery, membersQuery, rowsOf } from '../lists.ts'
import { needsFor, Once, RoleField } from '../parts.tsx'
import { words as common } from '../words.ts'
import { words } from './words.ts'

function Create({ close, made }: { close: () => void; made: (one: NewCredential) => void }) {
  const t = useWords(words)
  const c = useWords(common)
  const zone = useZone()
  const [role, choose] = useState<Role>('member')
  const [rfcs, bind] = useState<string[] | null>(null)
  const send = useSend(
    (body: CredentialDraft, headers) => answer(api.POST('/v1/credentials', { body, headers })),
    ['credentials', 'billing'],
  )
  const submit = (form: FormData) => {
    const expiry = String(form.get('expires_at') ?? '')
    send.mutate(
      {
        name: String(form.get('name')).trim(),
        role,
        ...(expiry && { expires_at: startOfDay(expiry, zone) }),
        ...(rfcs && { fiscal_entity_ids: rfcs }),
      },
      {
        onSuccess: (one) => {
          made(one)
          close()
        },
      },
    )
  }
  return (
    <Dialog title={t.create} close={close}>
      <Room of="credentials" />
      <Form onSubmit={submit}>
        <Field
          label={t.name}
          hint={t.nameHint}
          name="name"
          required
          maxLength={120}
          autocomplete="off"
          fault={faultOf(send.error, 'name')}
        />
        <RoleField value={role} choose={choose} fault={faultOf(send.error, 'role')} />
        <RfcChoice chosen={rfcs} set={bind} fault={faultOf(send.error, 'fiscal_entity_ids')} />
        <Field label={t.expiry} hint={t.expiryHint} name="expires_at" type="date" fault={faultOf(send.error, 'expires_at')} />
        <Problem error={send.error} />
        <Actions>
          <Button kind="primary" type="submit" isBusy={send.isPending}>
            {t.make}
          </Button>
          <Button onClick={close}>{c.cancel}</Button>
        </Actions>
      </Form>
    </Dialog>
  )
}

function Revoke({ one: { api_key, name }, isOwn, close }: { one: Credential; isOwn: boolean; close: () => void }) {
  const t = useWords(words)
  const c = useWords(common)
  const send = useSend(
    (_: null) => answer(api.DELETE('/v1/credentials/{api_key}', { params: { path: { api_key } } })),
    ['credentials', 'invitations', 'billing'],
  )
  return (
    <Dialog title={t.revokeOf(c.credential(name))} close={close}>
      <div class={css.list}>
        <code>{api_key}</code>
        <p>{t.revokeLead}</p>
        {isOwn && <b>{t.revokeOwn}</b>}
        <Problem error={send.error} />
      </div>
      <Actions>
        <Button kind="danger" isBusy={send.isPending} onClick={() => send.mutate(null, { onSuccess: close })}>
          {t.revoke}
        </Button>
        <Button onClick={close}>{c.cancel}</Button>
      </Actions>
    </Dialog>
  )
}

/** The sessions of whoever signed in by mail, on every device. */
function Sessions() {
  const t = useWords(words)
  const c = useWords(common)
  const zone = useZone()
  const query = useQuery({ queryKey: ['sessions'], queryFn: sessionsOfPerson })
  const end = useSend((id: string) => endSession(id), ['sessions'])
  return (
    <Panel flush title={t.sessions} lead={t.sessionsLead}>
      <Problem error={end.error} />
      <Loaded query={query}>
        {({ data }) => (
          <Table<PersonSession>
            label={t.sessions}
            rows={data}
            keyOf={({ session_id }) => session_id}
            columns={[
              {
                name: t.made,
                cell: ({ created_at, is_current }) => (
                  <span class={css.two}>
                    {instant(created_at, zone)}
                    {is_current && <Badge tone="good">{t.current}</Badge>}
                  </span>
                ),
              },
              { name: t.organization, cell: ({ organization }) => organization },
              { name: t.expires, cell: ({ expires_at }) => instant(expires_at, zone) },
              {
                name: c.actions,
                end: true,
                cell: ({ session_id, is_current }) =>
                  !is_current && (
                    <Button small kind="danger" isBusy={end.isPending} onClick={() => end.mutate(session_id)}>
                      {t.end}
                    </Button>
                  ),
              },
            ]}
          />
        )}
      </Loaded>
    </Panel>
  )
}

export default function Credentials() {
  const t = useWords(words)
  const c = useWords(common)
  const zone = useZone()
  const { api_key: own, organizations } = useSession()
  const [isCreating, ask] = useState(false)
  const [revoked, revoke] = useState<Credential | null>(null)
  const [made, keep] = useState<NewCredential | null>(null)
  const list = useInfiniteQuery(credentialsQuery)
  const { data: members } = useInfiniteQuery(membersQuery)
  const rfcOf = useRfcOf()
  const nameOf = (id: string) => rowsOf(members).find(({ member_id }) => member_id === id)?.name
  return (
    <>
      <Title text={t.title} lead={t.lead}>
        <Button kind="primary" needs="admin" onClick={() => ask(true)}>
          {t.create}
        </Button>
      </Title>
      {made && (
        <Once
          title={t.ready(made.name)}
          lead={t.readyLead}
          copy={`${made.api_key}:${made.api_secret}`}
          label={t.both}
          done={() => keep(null)}
        >
          <Facts
            facts={[
              [t.key, <code key="key">{made.api_key}</code>],
              [t.secret, <code key="secret">{made.api_secret}</code>],
            ]}
          />
        </Once>
      )}
      <Loaded query={list} rows={4}>
        {(data) => (
          <Panel flush>
            <Table<Credential>
              label={t.title}
              rows={rowsOf(data)}
              keyOf={({ api_key }) => api_key}
              list={list}
              columns={[
                {
                  name: t.name,
                  by: ({ name }) => name,
                  cell: ({ name, api_key }) => (
                    <span class={css.two}>
                      <b>{c.credential(name)}</b>
                      <code>{api_key}</code>
                      {api_key === own && <Badge tone="good">{t.this}</Badge>}
                    </span>
                  ),
                },
                { name: c.role, cell: ({ role }) => c.roles[role] },
                { name: c.rfcs, cell: ({ fiscal_entity_ids: ids }) => <small>{ids ? ids.map(rfcOf).join(', ') : c.allRfcs}</small> },
                { name: t.member, cell: ({ member_id }) => nameOf(member_id) },
                { name: t.made, by: ({ created_at }) => created_at, cell: ({ created_at }) => instant(created_at, zone) },
                { name: t.expires, cell: ({ expires_at }) => (expires_at ? instant(expires_at, zone) : c.never) },
                {
                  name: t.lastUsed,
                  by: ({ last_used_on }) => last_used_on,
                  cell: ({ last_used_on }) => (last_used_on ? day(last_used_on) : c.never),
                },
                {
                  name: c.actions,
                  end: true,
                  cell: (one) => (
                    <Button
                      small
                      kind="danger"
                      needs={needsFor(one.role)}
                      aria-label={t.revokeOf(c.credential(one.name))}
                      onClick={() => revoke(one)}
                    >
                      {t.revoke}
                    </Button>
                  ),
                },
              ]}
            />
          </Panel>
        )}
      </Loaded>
      <More list={list} />
      {organizations.length > 0 && <Sessions />}
      <Call call="GET /v1/credentials" />
      {isCreating && <Create close={() => ask(false)} made={keep} />}
      {revoked && <Revoke one={revoked} isOwn={revoked.api_key === own} close={() => revoke(null)} />}
    </>
  )
}

import { useInfiniteQuery } from '@tanstack/preact-query'
import { useState } from 'preact/hooks'
import { answer, api } from '../../../api/client.ts'
import { faultOf } from '../../../api/problems.ts'
import { useSend } from '../../../api/queries.ts'
import type { Invitation, InvitationDraft, Member, MemberChanges, NewInvitation, Role } from '../../../api/routes.d.ts'
import { useWords } from '../../../language.ts'
import { Button } from '../../../parts/button.tsx'
import { Dialog } from '../../../parts/dialog.tsx'
import { Actions, Field, Form } from '../../../parts/field.tsx'
import { Problem } from '../../../parts/states.tsx'
import { Room } from '../../../room/room.tsx'
import { RfcChoice } from '../../automation/parts/rfcs.tsx'
import css from '../account.module.css'
import { credentialsQuery, rowsOf } from '../lists.ts'
import { RoleField } from '../parts.tsx'
import { words as common } from '../words.ts'
import { words } from './words.ts'

const textOf = (form: FormData, name: string): string => String(form.get(name) ?? '').trim()

/** Invites a person. Inviting an address again sends its invitation again. */
export const useInvite = () =>
  useSend((body: InvitationDraft, headers) => answer(api.POST('/v1/team/members/invite', { body, headers })), ['invitations', 'billing'])

export function Invite({ close, made }: { close: () => void; made: (one: NewInvitation) => void }) {
  const t = useWords(words)
  const c = useWords(common)
  const [role, choose] = useState<Role>('member')
  const [rfcs, bind] = useState<string[] | null>(null)
  const send = useInvite()
  const submit = (form: FormData) => {
    const name = textOf(form, 'name')
    send.mutate(
      { email: textOf(form, 'email'), role, ...(name && { name }), ...(rfcs && { fiscal_entity_ids: rfcs }) },
      {
        onSuccess: (one) => {
          made(one)
          close()
        },
      },
    )
  }
  return (
    <Dialog title={t.invite} close={close}>
      <Room of="invitations" />
      <Room of="credentials" />
      <Form onSubmit={submit}>
        <Field label={t.email} name="email" type="email" required autocomplete="off" fault={faultOf(send.error, 'email')} />
        <RoleField value={role} choose={choose} fault={faultOf(send.error, 'role')} />
        <RfcChoice chosen={rfcs} set={bind} fault={faultOf(send.error, 'fiscal_entity_ids')} />
        <Field
          label={t.suggested}
          hint={t.suggestedHint}
          name="name"
          maxLength={120}
          autocomplete="off"
          fault={faultOf(send.error, 'name')}
        />
        <Problem error={send.error} />
        <Actions>
          <Button kind="primary" type="submit" isBusy={send.isPending}>
            {t.send}
          </Button>
          <Button onClick={close}>{c.cancel}</Button>
        </Actions>
      </Form>
    </Dialog>
  )
}

export function Change({ member, close }: { member: Member; close: () => void }) {
  const t = useWords(words)
  const c = useWords(common)
  const { member_id, name, role: old } = member
  const [role, choose] = useState<Role>(old)
  const send = useSend(
    (body: MemberChanges) => answer(api.PATCH('/v1/team/members/{member_id}', { params: { path: { member_id } }, body })),
    ['members', 'invitations', 'credentials', 'session'],
  )
  const submit = (form: FormData) => {
    const named = textOf(form, 'name')
    send.mutate({ ...(role !== old && { role }), ...(named !== name && { name: named }) }, { onSuccess: close })
  }
  return (
    <Dialog title={t.changeOf(name)} close={close}>
      <Form onSubmit={submit}>
        <Field label={t.name} name="name" required maxLength={120} defaultValue={name} fault={faultOf(send.error, 'name')} />
        <RoleField value={role} choose={choose} fault={faultOf(send.error, 'role')} />
        {role !== old && <p>{t.changeLead}</p>}
        <Problem error={send.error} />
        <Actions>
          <Button kind="primary" type="submit" isBusy={send.isPending}>
            {c.save}
          </Button>
          <Button onClick={close}>{c.cancel}</Button>
        </Actions>
      </Form>
    </Dialog>
  )
}

export function Remove({ member, close }: { member: Member; close: () => void }) {
  const t = useWords(words)
  const c = useWords(common)
  const { member_id, name } = member
  const [keeps, keep] = useState(false)
  const { data } = useInfiniteQuery(credentialsQuery)
  const all = rowsOf(data).filter((one) => one.member_id === member_id)
  const send = useSend(
    (keep_credentials: boolean) =>
      answer(api.DELETE('/v1/team/members/{member_id}', { params: { path: { member_id }, query: { keep_credentials } } })),
    ['members', 'invitations', 'credentials'],
  )
  const revoked = all.filter(({ created_by }) => !keeps || created_by === null)
  return (
    <Dialog title={t.removeOf(name)} close={close}>
      <div class={css.list}>
        <p>{t.removeLead}</p>
        {revoked.length > 0 && (
          <>
            <p>{t.hisCredentials}</p>
            <ul>
              {revoked.map((one) => (
                <li key={one.api_key}>
                  {c.credential(one.name)} <code>{one.api_key}</code>
                </li>
              ))}
            </ul>
          </>
        )}
        {all.some(({ created_by }) => created_by !== null) && (
          <p>
            <label class={css.row}>
              <input type="checkbox" checked={keeps} onChange={({ currentTarget }) => keep(currentTarget.checked)} />
              {t.keep}
            </label>
          </p>
        )}
        <Problem error={send.error} />
      </div>
      <Actions>
        <Button kind="danger" isBusy={send.isPending} onClick={() => send.mutate(keeps, { onSuccess: close })}>
          {t.remove}
        </Button>
        <Button onClick={close}>{c.cancel}</Button>
      </Actions>
    </Dialog>
  )
}

export function Withdraw({ invitation, close }: { invitation: Invitation; close: () => void }) {
  const t = useWords(words)
  const c = useWords(common)
  const { invitation_id, email } = invitation
  const send = useSend(
    (_: null) => answer(api.DELETE('/v1/team/invitations/{invitation_id}', { params: { path: { invitation_id } } })),
    ['invitations', 'billing'],
  )
  return (
    <Dialog title={t.withdrawOf(email)} close={close}>
      <div class={css.list}>
        <p>{t.withdrawLead}</p>
        <Problem error={send.error} />
      </div>
      <Actions>
        <Button kind="danger" isBusy={send.isPending} onClick={() => send.mutate(null, { onSuccess: close })}>
          {t.withdraw}
        </Button>
        <Button onClick={close}>{c.cancel}</Button>
      </Actions>
    </Dialog>
  )
}

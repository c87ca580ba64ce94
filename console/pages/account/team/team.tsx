import { useInfiniteQuery } from '@tanstack/preact-query'
import { useState } from 'preact/hooks'
import type { Invitation, Member, NewInvitation } from '../../../api/routes.d.ts'
import { instant } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Button } from '../../../parts/button.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import { More } from '../../../parts/more.tsx'
import { Call, Facts, Panel, Title } from '../../../parts/page.tsx'
import { Problem } from '../../../parts/states.tsx'
import { Table } from '../../../parts/table.tsx'
import { useZone } from '../../../session.ts'
import { useRfcOf } from '../../automation/parts/rfcs.tsx'
import css from '../account.module.css'
import { invitationsQuery, membersQuery, rowsOf } from '../lists.ts'
import { needsFor, Once } from '../parts.tsx'
import { words as common } from '../words.ts'
import { Change, Invite, Remove, useInvite, Withdraw } from './dialogs.tsx'
import { OwnMails } from './mails.tsx'
import { words } from './words.ts'

/** What is asked about above the page. */
type Asked = { change: Member } | { remove: Member } | { withdraw: Invitation } | 'invite' | null

/** The page that accepts the invitation. What follows # is sent to nobody. */
const linkOf = ({ token }: NewInvitation): string => `${location.origin}/console/invitation#token=${token}`

function Members({ ask }: { ask: (what: Asked) => void }) {
  const t = useWords(words)
  const c = useWords(common)
  const zone = useZone()
  const list = useInfiniteQuery(membersQuery)
  return (
    <>
      <Loaded query={list} rows={3}>
        {(data) => (
          <Panel title={t.members} flush>
            <Table<Member>
              label={t.members}
              rows={rowsOf(data)}
              keyOf={({ member_id }) => member_id}
              list={list}
              columns={[
                {
                  name: t.person,
                  cell: ({ name, email }) => (
                    <span class={css.two}>
                      <b>{name}</b>
                      <small>{email}</small>
                    </span>
                  ),
                },
                { name: c.role, cell: ({ role }) => c.roles[role] },
                { name: t.since, cell: ({ created_at }) => instant(created_at, zone) },
                {
                  name: c.actions,
                  end: true,
                  cell: (member) => (
                    <span class={css.row}>
                      <Button
                        small
                        needs={needsFor(member.role)}
                        aria-label={t.changeOf(member.name)}
                        onClick={() => ask({ change: member })}
                      >
                        {t.change}
                      </Button>
                      <Button
                        small
                        kind="danger"
                        needs={needsFor(member.role)}
                        aria-label={t.removeOf(member.name)}
                        onClick={() => ask({ remove: member })}
                      >
                        {t.remove}
                      </Button>
                    </span>
                  ),
                },
              ]}
            />
          </Panel>
        )}
      </Loaded>
      <More list={list} />
    </>
  )
}

function Invitations({ ask, made }: { ask: (what: Asked) => void; made: (one: NewInvitation) => void }) {
  const t = useWords(words)
  const c = useWords(common)
  const zone = useZone()
  const list = useInfiniteQuery(invitationsQuery)
  const send = useInvite()
  const rfcOf = useRfcOf()
  return (
    <>
      <Problem error={send.error} />
      <Loaded query={list} rows={1}>
        {(data) => {
          const rows = rowsOf(data)
          if (rows.length === 0)
            return (
              <Panel title={t.invitations} lead={t.invitationsLead}>
                <p>{t.noInvitations}</p>
              </Panel>
            )
          return (
            <Panel title={t.invitations} lead={t.invitationsLead} flush>
              <Table<Invitation>
                label={t.invitations}
                rows={rows}
                keyOf={({ invitation_id }) => invitation_id}
                list={list}
                columns={[
                  {
                    name: t.person,
                    cell: ({ name, email }) => (
                      <span class={css.two}>
                        <b>{name ?? email}</b>
                        {name && <small>{email}</small>}
                      </span>
                    ),
                  },
                  { name: c.role, cell: ({ role }) => c.roles[role] },
                  { name: c.rfcs, cell: ({ fiscal_entity_ids: ids }) => <small>{ids ? ids.map(rfcOf).join(', ') : c.allRfcs}</small> },
                  { name: t.sent, cell: ({ created_at }) => instant(created_at, zone) },
                  { name: t.expires, cell: ({ expires_at }) => instant(expires_at, zone) },
                  {
                    name: c.actions,
                    end: true,
                    cell: (one) => (
                      <span class={css.row}>
                        <Button
                          small
                          needs={needsFor(one.role)}
                          isBusy={send.isPending}
                          aria-label={t.againTo(one.email)}
                          onClick={() =>
                            send.mutate({ email: one.email, role: one.role, ...(one.name && { name: one.name }) }, { onSuccess: made })
                          }
                        >
                          {t.again}
                        </Button>
                        <Button
                          small
                          kind="danger"
                          needs={needsFor(one.role)}
                          aria-label={t.withdrawOf(one.email)}
                          onClick={() => ask({ withdraw: one })}
                        >
                          {t.withdraw}
                        </Button>
                      </span>
                    ),
                  },
                ]}
              />
            </Panel>
          )
        }}
      </Loaded>
      <More list={list} />
    </>
  )
}

export default function Team() {
  const t = useWords(words)
  const c = useWords(common)
  const zone = useZone()
  const [asked, ask] = useState<Asked>(null)
  const [made, keep] = useState<NewInvitation | null>(null)
  const close = () => ask(null)
  return (
    <>
      <Title text={t.title} lead={t.lead}>
        <Button kind="primary" needs="admin" onClick={() => ask('invite')}>
          {t.invite}
        </Button>
      </Title>
      {made && (
        <Once
          title={t.ready(made.email)}
          lead={(made.is_mailed ? t.mailedLead : t.readyLead)(c.roles[made.role], instant(made.expires_at, zone))}
          copy={linkOf(made)}
          label={t.copyLink}
          done={() => keep(null)}
        >
          <code>{linkOf(made)}</code>
        </Once>
      )}
      <Members ask={ask} />
      <Invitations ask={ask} made={keep} />
      <OwnMails />
      <Panel title={c.rolesTitle}>
        <Facts facts={(['owner', 'admin', 'member'] as const).map((role) => [c.roles[role], c.may[role]])} />
      </Panel>
      <Call call="GET /v1/team/members" />
      {asked === 'invite' && <Invite close={close} made={keep} />}
      {asked && asked !== 'invite' && 'change' in asked && <Change member={asked.change} close={close} />}
      {asked && asked !== 'invite' && 'remove' in asked && <Remove member={asked.remove} close={close} />}
      {asked && asked !== 'invite' && 'withdraw' in asked && <Withdraw invitation={asked.withdraw} close={close} />}
    </>
  )
}

import { useInfiniteQuery } from '@tanstack/preact-query'
import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { answer, api } from '../../../api/client.ts'
import { FRESH_MS, useSend } from '../../../api/queries.ts'
import type { CancellationRequest, CancellationRequestStatus } from '../../../api/routes.d.ts'
import { day, instant, money, NOTHING } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Badge, type Tone } from '../../../parts/badge.tsx'
import { Button } from '../../../parts/button.tsx'
import { Dialog } from '../../../parts/dialog.tsx'
import { EntityPicker, useEntity } from '../../../parts/entity.tsx'
import { Actions } from '../../../parts/field.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import { More } from '../../../parts/more.tsx'
import { Call, Panel, Title } from '../../../parts/page.tsx'
import { Empty, Failed, Problem, Skeleton } from '../../../parts/states.tsx'
import { Table } from '../../../parts/table.tsx'
import { isUnreadable, Unreadable } from '../../../parts/unreadable.tsx'
import { useZone } from '../../../session.ts'
import css from '../exports/exports.module.css'
import { words } from './words.ts'

const TONES: Record<CancellationRequestStatus, Tone> = {
  pending: 'wait',
  accepted: 'idle',
  rejected: 'good',
  expired: 'bad',
  cancelled: 'idle',
}
const STATUSES = ['pending', 'accepted', 'rejected', 'expired', 'cancelled'] as const
const DIRECTIONS = ['received', 'issued'] as const

/** How the API writes that nothing was credited. */
const NONE = '0.00'

/** Deadlines of the law are days there. */
const today = (): string => new Date().toLocaleDateString('en-CA', { timeZone: 'America/Mexico_City' })

type Choice = 'accept' | 'reject'
interface Asked {
  one: CancellationRequest
  choice: Choice
}

function Sure({ one: { uuid, fiscal_entity_id }, choice, close }: Asked & { close: () => void }) {
  const t = useWords(words)
  const send = useSend(
    (_: null) =>
      answer(
        api.POST('/v1/cancellation-requests/{uuid}/answer', {
          params: { path: { uuid }, query: { fiscal_entity_id } },
          body: { answer: choice },
        }),
      ),
    ['cancellation-requests', 'alerts'],
  )
  return (
    <Dialog title={t.sure[choice]} close={close}>
      <p>{t.sureLead[choice]}</p>
      <Problem error={send.error} />
      <Actions>
        <Button onClick={close}>{t.cancel}</Button>
        <Button
          kind={choice === 'accept' ? 'danger' : 'primary'}
          isBusy={send.isPending}
          onClick={() => send.mutate(null, { onSuccess: close })}
        >
          {t.send}
        </Button>
      </Actions>
    </Dialog>
  )
}

function Requests({
  fiscal_entity_id,
  direction,
  status,
}: {
  fiscal_entity_id: string
  direction: (typeof DIRECTIONS)[number]
  status: string
}) {
  const t = useWords(words)
  const zone = useZone()
  const [asked, ask] = useState<Asked | null>(null)
  const filters = { fiscal_entity_id, direction, ...(status && { status: status as CancellationRequestStatus }) }
  const list = useInfiniteQuery({
    queryKey: ['cancellation-requests', filters],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) =>
      answer(api.GET('/v1/cancellation-requests', { params: { query: { ...filters, limit: 25, ...(cursor && { cursor }) } } })),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    refetchInterval: FRESH_MS,
  })
  return (
    <>
      <Loaded query={list} rows={4}>
        {({ pages }) => {
          const rows = pages.flatMap(({ data }) => data)
          if (rows.length === 0) return <Empty title={t.none} lead={t.noneLead} />
          return (
            <Panel flush>
              <Table<CancellationRequest>
                label={t.list}
                rows={rows}
                keyOf={({ uuid }) => uuid}
                list={list}
                columns={[
                  {
                    name: t.invoice,
                    cell: ({ uuid, counterparty, issued_at, serie, folio }) => (
                      <span class={css.two}>
                        <Link href={`/cfdi/${uuid}?${new URLSearchParams({ fiscal_entity_id })}`}>{counterparty.nombre ?? t.noName}</Link>
                        <small>
                          {[counterparty.rfc, [serie, folio].filter(Boolean).join('-'), day(issued_at.slice(0, 10))]
                            .filter(Boolean)
                            .join(' · ')}
                        </small>
                      </span>
                    ),
                  },
                  { name: t.status, cell: (one) => <Badge tone={TONES[one.status]}>{t.state[one.status]}</Badge> },
                  {
                    name: t.deadline,
                    cell: ({ deadline, latest_deadline, deadline_basis, days_left, decided_at, clear_at }) => (
                      <span class={css.two}>
                        {days_left === null ? (
                          <small>{decided_at ? t.decided(instant(decided_at, zone)) : NOTHING}</small>
                        ) : (
                          <>
                            <b>{clear_at === null ? t.now : day(deadline)}</b>
                            <small>
                              {deadline < today() ? t.over : clear_at === null ? t.unknownSince(day(latest_deadline)) : t.days(days_left)}
                            </small>
                            {clear_at !== null && latest_deadline !== deadline && <small>{t.latest(day(latest_deadline))}</small>}
                            {deadline_basis === 'estimated' && <small>{t.estimated}</small>}
                          </>
                        )}
                      </span>
                    ),
                  },
                  { name: t.total, end: true, cell: ({ total, currency }) => money(total, currency) },
                  {
                    name: t.paid,
                    end: true,
                    cell: ({ paid_amount, credited_amount, currency, payment_status }) => (
                      <span class={css.end}>
                        {money(paid_amount, currency)}
                        <small>{t.payment[payment_status]}</small>
                        {credited_amount !== null && credited_amount !== NONE && (
                          <small>{t.credited(money(credited_amount, currency))}</small>
                        )}
                      </span>
                    ),
                  },
                  { name: t.detected, cell: ({ detected_at }) => instant(detected_at, zone) },
                  {
                    name: t.actions,
                    end: true,
                    cell: (one) => {
                      const { answer: given } = one
                      if (given?.sent_at) return <small>{t.sent[given.answer]}</small>
                      if (one.status !== 'pending' || one.direction === 'issued') return NOTHING
                      const choices: readonly Choice[] = given ? [given.answer] : ['accept', 'reject']
                      return (
                        <span class={css.actions}>
                          {given && <small>{t.unsure[given.answer]}</small>}
                          {choices.map((choice) => (
                            <Button
                              key={choice}
                              small
                              needs="admin"
                              aria-label={t.of(t[choice], one.uuid)}
                              onClick={() => ask({ one, choice })}
                            >
                              {t[choice]}
                            </Button>
                          ))}
                        </span>
                      )
                    },
                  },
                ]}
              />
            </Panel>
          )
        }}
      </Loaded>
      <More list={list} />
      <Call call={`GET /v1/cancellation-requests?${new URLSearchParams(filters)}`} />
      {asked && <Sure {...asked} close={() => ask(null)} />}
    </>
  )
}

export default function Cancellations() {
  const t = useWords(words)
  const { entity, entities, error, refetch, choose, params, set } = useEntity()
  if (error && !entities) return <Failed isPage error={error} retry={refetch} />
  if (!entities) return <Skeleton rows={6} />
  if (entities.length === 0)
    return <Empty isPage title={t.connectTitle} lead={t.connectLead} action={{ label: t.connect, href: '/connect' }} />
  const direction = params.get('direction') === 'issued' ? 'issued' : 'received'
  const status = STATUSES.find((one) => one === params.get('status')) ?? ''
  const change = (name: string, value: string) =>
    set((old) => {
      if (value) old.set(name, value)
      else old.delete(name)
      return old
    })
  return (
    <>
      <Title text={t.title} lead={t.lead}>
        <EntityPicker entities={entities} entity={entity} choose={choose} />
        <select aria-label={t.direction} value={direction} onChange={({ currentTarget }) => change('direction', currentTarget.value)}>
          {DIRECTIONS.map((one) => (
            <option key={one} value={one}>
              {t.directions[one]}
            </option>
          ))}
        </select>
        <select aria-label={t.status} value={status} onChange={({ currentTarget }) => change('status', currentTarget.value)}>
          <option value="">{t.anyStatus}</option>
          {STATUSES.map((one) => (
            <option key={one} value={one}>
              {t.state[one]}
            </option>
          ))}
        </select>
      </Title>
      {entity && isUnreadable(entity) ? (
        <Unreadable entity={entity} />
      ) : entity ? (
        <Requests fiscal_entity_id={entity.fiscal_entity_id} direction={direction} status={status} />
      ) : (
        <Empty title={t.unknownRfc} />
      )}
    </>
  )
}

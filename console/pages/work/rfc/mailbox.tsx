import { useInfiniteQuery, useMutation, useQuery } from '@tanstack/preact-query'
import { useEffect, useRef } from 'preact/hooks'
import { answer, api } from '../../../api/client.ts'
import type { Notification } from '../../../api/routes.d.ts'
import { day, instant } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Badge, type Tone } from '../../../parts/badge.tsx'
import { Button } from '../../../parts/button.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import { More } from '../../../parts/more.tsx'
import { Call, Panel } from '../../../parts/page.tsx'
import { Problem } from '../../../parts/states.tsx'
import { useZone } from '../../../session.ts'
import css from './rfc.module.css'
import { words } from './words.ts'

const TONES: Record<Notification['severity'], Tone> = { critical: 'bad', warning: 'wait', info: 'idle' }
/** Deadlines of the law are days there. */
const LAW_ZONE = 'America/Mexico_City'
/** How often a document is asked for that the authority has to deliver first. */
const TRIES = 12

const lawDay = (at: string | Date): string => new Date(at).toLocaleDateString('en-CA', { timeZone: LAW_ZONE })

/** Until when it can be opened, or that nobody did. */
function Deadline({ one: { status, open_deadline, effective_at, days_left, deadline_basis } }: { one: Notification }) {
  const t = useWords(words)
  const effective = day(effective_at && lawDay(effective_at))
  if (status === 'notified_by_expiry') return <p class={css.late}>{t.expired(effective)}</p>
  if (status !== 'pending' || !open_deadline || days_left === null) return null
  // Days off follow the last day to open it: it can still be opened on them.
  const isOver = lawDay(new Date()) > open_deadline
  return (
    <p class={isOver || days_left === 0 ? css.late : css.due}>
      {isOver ? t.over(day(open_deadline), effective) : t.deadline(day(open_deadline), t.days(days_left))}
      {deadline_basis === 'estimated' && ` ${t.estimated}`}
    </p>
  )
}

/** Downloads the document of a notification that took effect; the authority may have to deliver it first. */
function Letter({
  fiscal_entity_id,
  notification_id,
  title,
}: Pick<Notification, 'notification_id' | 'title'> & { fiscal_entity_id: string }) {
  const t = useWords(words)
  const href = `/v1/fiscal-entities/${fiscal_entity_id}/buzon/document?${new URLSearchParams({ notification_id })}`
  const fetching = useMutation({
    mutationFn: async () => {
      for (let n = 0; n < TRIES; n++) {
        const asked = api.GET('/v1/fiscal-entities/{fiscal_entity_id}/buzon/document', {
          params: { path: { fiscal_entity_id }, query: { notification_id } },
          parseAs: 'stream',
        })
        await answer(asked)
        const { data, response } = await asked
        void data?.cancel()
        if (response.status === 200) return true
        await new Promise((done) => setTimeout(done, Number(response.headers.get('retry-after') ?? 5) * 1_000))
      }
      return false
    },
    onSuccess: (isThere) => {
      if (!isThere) return
      const link = document.createElement('a')
      Object.assign(link, { href, download: '' }).click()
    },
  })
  return (
    <>
      <Button small isBusy={fetching.isPending} aria-label={`${t.letter}: ${title}`} onClick={() => fetching.mutate()}>
        {fetching.isPending ? t.letterComing : t.letter}
      </Button>
      {fetching.data === false && <p role="status">{t.letterLater}</p>}
      <Problem error={fetching.error} />
    </>
  )
}

function Item({ one, fiscal_entity_id }: { one: Notification; fiscal_entity_id: string }) {
  const t = useWords(words)
  const zone = useZone()
  return (
    <li>
      <div>
        <Badge tone={TONES[one.severity]}>{t.mailboxStatus[one.status]}</Badge>
        <small>
          {t.mailboxKind[one.kind]} · {t.sent(instant(one.sent_at, zone))}
          {one.opened_at && ` · ${t.openedAt(instant(one.opened_at, zone))}`}
        </small>
      </div>
      <b>{one.title}</b>
      <p>
        {one.authority}
        {one.document_number && ` · ${one.document_number}`}
      </p>
      <Deadline one={one} />
      {one.has_document && one.status !== 'pending' && (
        <Letter fiscal_entity_id={fiscal_entity_id} notification_id={one.notification_id} title={one.title} />
      )}
    </li>
  )
}

const byDeadline = (one: Notification, other: Notification): number => (one.effective_at ?? '').localeCompare(other.effective_at ?? '')

/** The tax mailbox: what has to be opened, the nearest deadline first; then all that came, the latest first. */
export function Mailbox({ fiscal_entity_id }: { fiscal_entity_id: string }) {
  const t = useWords(words)
  const path = { fiscal_entity_id }
  const place = useRef<HTMLDivElement>(null)
  const open = useQuery({
    queryKey: ['mailbox', fiscal_entity_id, 'pending'],
    queryFn: () =>
      answer(
        api.GET('/v1/fiscal-entities/{fiscal_entity_id}/buzon/notifications', {
          params: { path, query: { status: 'pending', limit: 100 } },
        }),
      ),
  })
  const list = useInfiniteQuery({
    queryKey: ['mailbox', fiscal_entity_id],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) =>
      answer(
        api.GET('/v1/fiscal-entities/{fiscal_entity_id}/buzon/notifications', {
          params: { path, query: { limit: 10, ...(cursor && { cursor }) } },
        }),
      ),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  })
  // An alert leads here.
  useEffect(() => {
    if (open.data && list.data && location.hash === '#mailbox') place.current?.scrollIntoView()
  }, [open.data !== undefined && list.data !== undefined])
  const items = (all: readonly Notification[]) => (
    <ul class={css.mailbox}>
      {all.map((one) => (
        <Item key={one.notification_id} one={one} fiscal_entity_id={fiscal_entity_id} />
      ))}
    </ul>
  )
  return (
    <div ref={place}>
      <Panel title={t.mailbox} lead={t.mailboxLead}>
        <Loaded query={open}>
          {({ data: pending }) => (
            <Loaded query={list}>
              {({ pages }) => {
                const others = pages.flatMap(({ data }) => data).filter(({ status }) => status !== 'pending')
                if (pending.length === 0 && others.length === 0) return <p>{t.mailboxNone}</p>
                return (
                  <div class={css.mailbox}>
                    <h3>{t.mailboxOpen}</h3>
                    {pending.length > 0 ? items(pending.toSorted(byDeadline)) : <p>{t.mailboxNoneOpen}</p>}
                    {others.length > 0 && <h3>{t.mailboxOthers}</h3>}
                    {others.length > 0 && items(others)}
                  </div>
                )
              }}
            </Loaded>
          )}
        </Loaded>
        <More list={list} />
        <Call call={`GET /v1/fiscal-entities/${fiscal_entity_id}/buzon/notifications`} />
      </Panel>
    </div>
  )
}

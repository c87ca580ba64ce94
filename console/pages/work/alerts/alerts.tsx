import { useInfiniteQuery, useQuery } from '@tanstack/preact-query'
import { Link, useSearchParams } from 'wouter-preact'
import { answer, api } from '../../../api/client.ts'
import { entitiesQuery, useSend } from '../../../api/queries.ts'
import type { Alert } from '../../../api/routes.d.ts'
import { day, instant } from '../../../format.ts'
import { language, useWords } from '../../../language.ts'
import { Badge } from '../../../parts/badge.tsx'
import { Button } from '../../../parts/button.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import { More } from '../../../parts/more.tsx'
import { Call, Panel, Title } from '../../../parts/page.tsx'
import { Empty, Problem } from '../../../parts/states.tsx'
import { Switch } from '../../../parts/switch.tsx'
import { useZone } from '../../../session.ts'
import { openFirst, pageOf, withDays } from './about.ts'
import css from './alerts.module.css'
import { words } from './words.ts'

/** The text in the language that is spoken, where the API has it in Spanish as well. */
const textOf = (alert: Alert & { message_es?: string }): string => withDays((language() === 'es' && alert.message_es) || alert.message, day)

function Item({ alert }: { alert: Alert }) {
  const t = useWords(words)
  const zone = useZone()
  const reading = useSend(
    (alert_id: string, headers) => answer(api.POST('/v1/alerts/{alert_id}/read', { params: { path: { alert_id } }, headers })),
    ['alerts'],
  )
  const { data: entities = [] } = useQuery(entitiesQuery)
  const href = pageOf(alert, entities)
  return (
    <li class={css.item}>
      <div>
        {alert.resolved_at === null ? (
          <Badge tone={alert.severity === 'critical' ? 'bad' : 'wait'}>{t.severity[alert.severity]}</Badge>
        ) : (
          <Badge tone="good">{t.resolved}</Badge>
        )}
        <small>
          {instant(alert.created_at, zone)}
          {alert.resolved_at !== null && ` · ${t.wasResolved(instant(alert.resolved_at, zone))}`}
        </small>
      </div>
      <p>{textOf(alert)}</p>
      <div>
        {href && <Link href={href}>{t.open}</Link>}
        {alert.read_at === null ? (
          <Button small needs="admin" isBusy={reading.isPending} onClick={() => reading.mutate(alert.alert_id)}>
            {t.read}
          </Button>
        ) : (
          <small>{t.wasRead(instant(alert.read_at, zone))}</small>
        )}
      </div>
      <Problem error={reading.error} />
    </li>
  )
}

export default function Alerts() {
  const t = useWords(words)
  const [params, set] = useSearchParams()
  const isAll = params.get('is_read') === 'any'
  const alerts = useInfiniteQuery({
    queryKey: ['alerts', isAll],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) =>
      answer(api.GET('/v1/alerts', { params: { query: { limit: 50, ...(!isAll && { is_read: false }), ...(cursor && { cursor }) } } })),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  })
  return (
    <>
      <Title text={t.title} lead={t.lead}>
        <Switch
          label={t.show}
          value={isAll ? 'any' : 'false'}
          choices={[
            ['false', t.unread],
            ['any', t.all],
          ]}
          choose={(value) => set(value === 'any' ? { is_read: 'any' } : {})}
        />
      </Title>
      <Loaded query={alerts} rows={3}>
        {({ pages }) => {
          const all = pages.flatMap(({ data }) => openFirst(data))
          return all.length === 0 ? (
            <Empty title={t.none} lead={t.noneLead} />
          ) : (
            <Panel flush>
              <ul>
                {all.map((alert) => (
                  <Item key={alert.alert_id} alert={alert} />
                ))}
              </ul>
            </Panel>
          )
        }}
      </Loaded>
      <More list={alerts} />
      <Call call={`GET /v1/alerts${isAll ? '' : '?is_read=false'}`} />
    </>
  )
}

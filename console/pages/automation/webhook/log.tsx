import { useInfiniteQuery, useQuery } from '@tanstack/preact-query'
import { useState } from 'preact/hooks'
import { useSearchParams } from 'wouter-preact'
import { answer, api } from '../../../api/client.ts'
import { FRESH_MS, LIVE_MS } from '../../../api/queries.ts'
import type { DeliveryStatus, EventKey, WebhookDelivery } from '../../../api/routes.d.ts'
import { useWords } from '../../../language.ts'
import { Button } from '../../../parts/button.tsx'
import { Select } from '../../../parts/field.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import { More } from '../../../parts/more.tsx'
import { Panel } from '../../../parts/page.tsx'
import { Empty } from '../../../parts/states.tsx'
import { FilterWords } from '../../../parts/wrong.tsx'
import css from '../parts/automation.module.css'
import { catalogQuery } from './catalog.ts'
import { Delivery } from './delivery.tsx'
import { Since } from './since.tsx'
import { words } from './words.ts'

const STATUSES = ['pending', 'delivered', 'failed', 'lost'] as const
const TEST = 'webhook.test'

/** An attempt is due or under way. One that waits for hours is no reason to ask every moment. */
const isMoving = ({ status, next_attempt_at }: WebhookDelivery): boolean =>
  status === 'pending' && next_attempt_at !== null && Date.parse(next_attempt_at) < Date.now() + LIVE_MS

/** The deliveries of a webhook. Their filters are in the address. */
export function Log({ webhook_id }: { webhook_id: string }) {
  const t = useWords(words)
  const [params, set] = useSearchParams()
  const [isAsking, ask] = useState(false)
  const { data: catalog = [] } = useQuery(catalogQuery)
  const [status, event_key] = [params.get('status') ?? '', params.get('event_key') ?? '']
  const filters = { ...(status && { status: status as DeliveryStatus }), ...(event_key && { event_key: event_key as EventKey }) }
  const list = useInfiniteQuery({
    queryKey: ['deliveries', webhook_id, filters],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) =>
      answer(
        api.GET('/v1/webhooks/{webhook_id}/deliveries', {
          params: { path: { webhook_id }, query: { limit: 20, ...filters, ...(cursor && { cursor }) } },
        }),
      ),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    refetchInterval: ({ state }) => (state.data?.pages.some(({ data }) => data.some(isMoving)) ? LIVE_MS : FRESH_MS),
  })
  const choose =
    (name: string) =>
    ({ currentTarget }: { currentTarget: HTMLSelectElement }) =>
      set((old) => {
        if (currentTarget.value) old.set(name, currentTarget.value)
        else old.delete(name)
        return old
      })
  return (
    <Panel
      title={t.log}
      lead={t.logLead}
      flush
      actions={
        <Button needs="admin" onClick={() => ask(true)}>
          {t.since}
        </Button>
      }
    >
      <div class={`${css.lines} ${css.row}`}>
        <Select label={t.status} value={status} onChange={choose('status')} data-filter>
          <option value="">{t.any}</option>
          {STATUSES.map((one) => (
            <option key={one} value={one}>
              {t.statuses[one]}
            </option>
          ))}
        </Select>
        <Select label={t.testEvent} value={event_key} onChange={choose('event_key')}>
          <option value="">{t.anyEvent}</option>
          {[TEST, ...catalog.map(({ key }) => key)].map((key) => (
            <option key={key}>{key}</option>
          ))}
        </Select>
      </div>
      <FilterWords.Provider value={(name, value) => ({ label: name === 'status' ? t.status : t.testEvent, value })}>
        <Loaded query={list} rows={3}>
          {({ pages }) => {
            const rows = pages.flatMap(({ data }) => data)
            return rows.length === 0 ? (
              <Empty title={t.noDeliveries} lead={t.noDeliveriesLead} />
            ) : (
              <ul>
                {rows.map((one) => (
                  <Delivery key={`${one.event_id} ${one.redelivery}`} webhook_id={webhook_id} delivery={one} />
                ))}
              </ul>
            )
          }}
        </Loaded>
      </FilterWords.Provider>
      {list.hasNextPage && (
        <div class={css.lines}>
          <More list={list} />
        </div>
      )}
      {isAsking && <Since webhook_id={webhook_id} close={() => ask(false)} />}
    </Panel>
  )
}

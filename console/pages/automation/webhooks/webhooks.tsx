import { useInfiniteQuery } from '@tanstack/preact-query'
import { Plus } from 'lucide-preact'
import { Link, useLocation } from 'wouter-preact'
import { answer, api } from '../../../api/client.ts'
import type { Webhook } from '../../../api/routes.d.ts'
import { useWords } from '../../../language.ts'
import { Button } from '../../../parts/button.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import { More } from '../../../parts/more.tsx'
import { Call, Panel, Title } from '../../../parts/page.tsx'
import { Empty } from '../../../parts/states.tsx'
import { Table } from '../../../parts/table.tsx'
import css from '../parts/automation.module.css'
import { useRfcOf } from '../parts/rfcs.tsx'
import { WebhookState } from '../webhook/state.tsx'
import { words } from '../webhook/words.ts'

export default function Webhooks() {
  const t = useWords(words)
  const rfcOf = useRfcOf()
  const [, go] = useLocation()
  const list = useInfiniteQuery({
    queryKey: ['webhooks'],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) => answer(api.GET('/v1/webhooks', { params: { query: { limit: 50, ...(cursor && { cursor }) } } })),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  })
  return (
    <>
      <Title text={t.title} lead={t.lead}>
        <Button kind="primary" needs="admin" onClick={() => go('/webhooks/new')}>
          <Plus size={17} aria-hidden="true" />
          {t.create}
        </Button>
      </Title>
      <Loaded query={list} rows={3}>
        {({ pages }) => {
          const rows = pages.flatMap(({ data }) => data)
          if (rows.length === 0) return <Empty title={t.none} lead={t.noneLead} />
          return (
            <Panel flush>
              <Table<Webhook>
                label={t.title}
                rows={rows}
                keyOf={({ webhook_id }) => webhook_id}
                list={list}
                columns={[
                  {
                    name: t.name,
                    cell: (one) => (
                      <Link href={`/webhooks/${one.webhook_id}`}>
                        <b>{one.name}</b>
                      </Link>
                    ),
                  },
                  { name: t.url, cell: ({ url }) => <small class={css.wrap}>{url}</small> },
                  { name: t.events, cell: ({ event_keys }) => <small>{event_keys.join(', ')}</small> },
                  { name: t.rfcs, cell: ({ fiscal_entity_ids: ids }) => <small>{ids ? ids.map(rfcOf).join(', ') : t.allRfcs}</small> },
                  {
                    name: t.state,
                    cell: (one) => <WebhookState webhook={one} />,
                  },
                ]}
              />
            </Panel>
          )
        }}
      </Loaded>
      <More list={list} />
      <Call call="GET /v1/webhooks" />
    </>
  )
}

import { useInfiniteQuery } from '@tanstack/preact-query'
import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { answer, api } from '../../../api/client.ts'
import { useSend } from '../../../api/queries.ts'
import type { BillingRfc, Invoice } from '../../../api/routes.d.ts'
import { instant, money, month } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Badge, type Tone } from '../../../parts/badge.tsx'
import { Button } from '../../../parts/button.tsx'
import { Dialog } from '../../../parts/dialog.tsx'
import { Actions } from '../../../parts/field.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import { More } from '../../../parts/more.tsx'
import { Panel } from '../../../parts/page.tsx'
import { Problem } from '../../../parts/states.tsx'
import { Table } from '../../../parts/table.tsx'
import { useZone } from '../../../session.ts'
import { words as rfcPage } from '../../work/rfc/words.ts'
import css from '../account.module.css'
import { rowsOf } from '../lists.ts'
import { words } from './words.ts'

const PAGE = 25
const paged = (cursor: string | undefined) => ({ params: { query: { limit: PAGE, ...(cursor && { cursor }) } } })

const CONNECTIONS: Record<BillingRfc['connection_status'], Tone> = { active: 'good', draft: 'idle', paused: 'wait', invalid_ciec: 'bad' }

/** Which RFCs take a seat, and how to free one. */
export function Seats() {
  const t = useWords(words)
  const zone = useZone()
  const list = useInfiniteQuery({
    queryKey: ['billing-rfcs'],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam }) => answer(api.GET('/v1/billing/rfcs', paged(pageParam))),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  })
  const rfcWords = useWords(rfcPage)
  const [asked, ask] = useState<Pick<BillingRfc, 'id' | 'rfc'> | null>(null)
  const setting = useSend(
    ({ id, active }: Pick<BillingRfc, 'id' | 'active'>) =>
      answer(api.PATCH('/v1/billing/rfcs/{fiscal_entity_id}', { params: { path: { fiscal_entity_id: id } }, body: { active } })),
    ['billing-rfcs', 'billing', 'standings', 'fiscal-entities', 'fiscal-entity'],
  )
  return (
    <>
      <Loaded query={list} rows={2}>
        {(data) => {
          const rows = rowsOf(data)
          return rows.length === 0 ? (
            <Panel title={t.taken} lead={t.takenLead}>
              <p>{t.noRfcs}</p>
            </Panel>
          ) : (
            <Panel title={t.taken} lead={t.takenLead} flush>
              <Table<BillingRfc>
                label={t.taken}
                rows={rows}
                keyOf={({ id }) => id}
                list={list}
                columns={[
                  { name: 'RFC', by: ({ rfc }) => rfc, cell: ({ id, rfc }) => <Link href={`/rfcs/${id}`}>{rfc}</Link> },
                  {
                    name: t.connection,
                    cell: ({ connection_status: status }) => <Badge tone={CONNECTIONS[status]}>{t.status[status]}</Badge>,
                  },
                  { name: t.seat, cell: ({ seat_source }) => (seat_source ? t.source[seat_source] : t.noSeat) },
                  {
                    name: t.since,
                    by: ({ active_since }) => active_since,
                    cell: ({ active_since }) => active_since && instant(active_since, zone),
                  },
                  {
                    name: t.actions,
                    end: true,
                    cell: ({ id, rfc, active, connection_status }) => {
                      const action = active ? t.pause : t.resume
                      return (
                        (active || connection_status === 'paused') && (
                          <Button
                            small
                            needs="admin"
                            isBusy={setting.isPending && setting.variables?.id === id}
                            aria-label={t.of(action, rfc)}
                            onClick={() => (active ? ask({ id, rfc }) : setting.mutate({ id, active: true }))}
                          >
                            {action}
                          </Button>
                        )
                      )
                    },
                  },
                ]}
              />
            </Panel>
          )
        }}
      </Loaded>
      {asked === null && <Problem error={setting.error} />}
      {asked && (
        <Dialog title={rfcWords.pauseTitle(asked.rfc)} close={() => ask(null)}>
          <p>{rfcWords.pauseLead}</p>
          <Problem error={setting.error} />
          <Actions>
            <Button
              kind="primary"
              isBusy={setting.isPending}
              onClick={() => setting.mutate({ id: asked.id, active: false }, { onSuccess: () => ask(null) })}
            >
              {t.pause}
            </Button>
            <Button onClick={() => ask(null)}>{rfcWords.cancel}</Button>
          </Actions>
        </Dialog>
      )}
      <More list={list} />
    </>
  )
}

const STATES: Record<Invoice['status'] | 'overdue', Tone> = { open: 'wait', overdue: 'bad', paid: 'good', void: 'idle' }

export function Invoices() {
  const t = useWords(words)
  const zone = useZone()
  const list = useInfiniteQuery({
    queryKey: ['billing-invoices'],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam }) => answer(api.GET('/v1/billing/invoices', paged(pageParam))),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  })
  return (
    <>
      <Loaded query={list} rows={2}>
        {(data) => {
          const rows = rowsOf(data)
          return rows.length === 0 ? (
            <Panel title={t.invoices}>
              <p>{t.noInvoices}</p>
            </Panel>
          ) : (
            <Panel title={t.invoices} flush>
              <Table<Invoice>
                label={t.invoices}
                rows={rows}
                keyOf={({ invoice_id }) => invoice_id}
                list={list}
                columns={[
                  { name: t.number, by: ({ number }) => number, cell: ({ number }) => <b>{number}</b> },
                  {
                    name: t.period,
                    by: ({ period }) => period,
                    cell: ({ period }) => <span class={css.time}>{month(period, 'long')}</span>,
                  },
                  {
                    name: t.subtotal,
                    end: true,
                    by: ({ subtotal }) => subtotal,
                    cell: ({ subtotal, currency }) => money(subtotal, currency),
                  },
                  { name: t.tax, end: true, by: ({ tax }) => tax, cell: ({ tax, currency }) => money(tax, currency) },
                  { name: t.total, end: true, by: ({ total }) => total, cell: ({ total, currency }) => money(total, currency) },
                  {
                    name: t.invoiceStatus,
                    cell: ({ status, is_overdue, paid_at, grace_until }) => {
                      const state = is_overdue ? 'overdue' : status
                      return (
                        <span class={css.two}>
                          <Badge tone={STATES[state]}>{t.invoice[state]}</Badge>
                          {status === 'open' && <small>{t.grace(instant(grace_until, zone))}</small>}
                          {paid_at && <small>{instant(paid_at, zone)}</small>}
                        </span>
                      )
                    },
                  },
                  { name: t.issued, by: ({ issued_at }) => issued_at, cell: ({ issued_at }) => instant(issued_at, zone) },
                  {
                    name: t.pay,
                    cell: ({ pdf_url, status, number }) => (
                      <span class={css.two}>
                        {pdf_url && (
                          <a href={pdf_url} target="_blank" rel="noreferrer">
                            {t.pdf}
                          </a>
                        )}
                        {status === 'open' && <small>{pdf_url ? t.payByPdf : t.payByOperator(number)}</small>}
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

import { infiniteQueryOptions, queryOptions, useInfiniteQuery, useQuery } from '@tanstack/preact-query'
import { useEffect, useRef } from 'preact/hooks'
import { Link, useLocation } from 'wouter-preact'
import { answer, api } from '../../../api/client.ts'
import type { CfdiApplication, CfdiDetail, CfdiRelation } from '../../../api/routes.d.ts'
import { useCodes } from '../../../codes/codes.ts'
import { day, instant, money } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Badge } from '../../../parts/badge.tsx'
import { Button } from '../../../parts/button.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import { More } from '../../../parts/more.tsx'
import { Figures, Panel } from '../../../parts/page.tsx'
import { Table } from '../../../parts/table.tsx'
import { useZone } from '../../../session.ts'
import { Estatus } from '../cfdi/badges.tsx'
import { nameOf } from '../cfdi/name.ts'
import { words as listWords } from '../cfdi/words.ts'
import css from './invoice.module.css'
import { words } from './words.ts'

interface Props {
  cfdi: Pick<CfdiDetail, 'uuid' | 'fiscal_entity_id'>
}

const paramsOf = ({ uuid, fiscal_entity_id }: Props['cfdi']) => ({ path: { uuid }, query: { fiscal_entity_id } })
const hrefOf = (uuid: string, fiscal_entity_id: string) => `/cfdi/${uuid}?fiscal_entity_id=${fiscal_entity_id}`

const relationsQuery = (cfdi: Props['cfdi']) =>
  infiniteQueryOptions({
    queryKey: ['cfdi-relations', cfdi.fiscal_entity_id, cfdi.uuid],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) => {
      const { path, query: own } = paramsOf(cfdi)
      return answer(api.GET('/v1/cfdi/{uuid}/relations', { params: { path, query: { ...own, limit: 20, ...(cursor && { cursor }) } } }))
    },
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  })

/** What the documents around one are called. Payments and the history know them by their UUIDs alone, the relations by series and folio. */
function useNames(cfdi: Props['cfdi']): (uuid: string) => string {
  const { data } = useInfiniteQuery(relationsQuery(cfdi))
  const known = new Map(data?.pages.flatMap((page) => page.data).map((one) => [one.uuid, one.cfdi]))
  return (uuid) => nameOf({ uuid, ...known.get(uuid) })
}

/** What was paid of an invoice, and what does not count. */
export function Payments({ cfdi }: { cfdi: Pick<CfdiDetail, 'uuid' | 'fiscal_entity_id' | 'estatus' | 'metodo_pago' | 'payment_status'> }) {
  const t = useWords(words)
  const { said } = useCodes()
  const called = useNames(cfdi)
  const query = useQuery({
    queryKey: ['cfdi-payments', cfdi.fiscal_entity_id, cfdi.uuid],
    queryFn: () => answer(api.GET('/v1/cfdi/{uuid}/payments', { params: paramsOf(cfdi) })),
  })
  return (
    <Panel title={t.payments} lead={t.paymentsLead}>
      <Loaded query={query}>
        {({ data, paid_amount, credited_amount, balance, reported_balance, balance_mismatch, currency }) => (
          <>
            <Figures
              figures={[
                { name: t.paid, value: money(paid_amount, currency) },
                { name: t.credited, value: money(credited_amount, currency) },
                { name: t.balance, value: money(balance, currency) },
              ]}
            />
            {cfdi.estatus === 'cancelado' && <p class={css.soft}>{t.cancelledBalance}</p>}
            {balance_mismatch && <Badge tone="wait">{t.mismatch(money(reported_balance, currency), money(balance, currency))}</Badge>}
            {data.length === 0 ? (
              <p class={css.soft}>
                {t.noPayments} {cfdi.metodo_pago === 'PUE' && cfdi.payment_status === 'paid' && t.paidAtOnce}
              </p>
            ) : (
              <div class={css.bleed}>
                <Table<CfdiApplication>
                  label={t.payments}
                  rows={data}
                  keyOf={({ source_uuid, num_parcialidad, fecha_pago }) => `${source_uuid} ${num_parcialidad} ${fecha_pago}`}
                  columns={[
                    {
                      name: t.document,
                      cell: ({ source_uuid, kind }) => (
                        <Link
                          class={css.unbroken}
                          href={hrefOf(source_uuid, cfdi.fiscal_entity_id)}
                        >{`${t.kind[kind]} ${called(source_uuid)}`}</Link>
                      ),
                    },
                    { name: t.date, cell: ({ fecha_pago }) => <span class={css.unbroken}>{day(fecha_pago)}</span> },
                    { name: t.form, cell: ({ forma_pago }) => forma_pago && said('forma_pago', forma_pago) },
                    { name: t.part, end: true, cell: ({ num_parcialidad }) => num_parcialidad },
                    { name: t.amount, end: true, cell: (one) => money(one.amount, one.currency) },
                    { name: t.after, end: true, cell: (one) => one.imp_saldo_insoluto && money(one.imp_saldo_insoluto, one.currency) },
                    {
                      name: t.counts,
                      cell: ({ counts, not_counted_reason, warnings }) => (
                        <span class={css.badges}>
                          <Badge tone={counts ? 'good' : 'bad'}>{counts ? t.yes : t.reason[not_counted_reason ?? '']}</Badge>
                          {warnings.length > 0 && <Badge tone="wait">{t.differs}</Badge>}
                        </span>
                      ),
                    },
                  ]}
                />
              </div>
            )}
          </>
        )}
      </Loaded>
    </Panel>
  )
}

function Node({ one, fiscal_entity_id }: { one: CfdiRelation; fiscal_entity_id: string }) {
  const t = useWords(words)
  const list = useWords(listWords)
  const { said } = useCodes()
  const { cfdi, uuid, relation } = one
  return (
    <li>
      <small>{t.relation[relation] ?? said('tipo_relacion', relation)}</small>
      {cfdi ? (
        <>
          <Link href={hrefOf(uuid, fiscal_entity_id)}>
            {list.tipo[cfdi.tipo_comprobante ?? '']} {nameOf(cfdi)}
          </Link>
          <small>{day(cfdi.fecha)}</small>
          <Estatus cfdi={cfdi} />
        </>
      ) : (
        <>
          <code>{uuid}</code>
          <small>{t.notHeld}</small>
        </>
      )}
    </li>
  )
}

/** The documents around one: what it names at the left, what names it at the right. */
export function Relations({ cfdi, name, lead }: Props & { name: string; lead: string }) {
  const t = useWords(words)
  const query = useInfiniteQuery(relationsQuery(cfdi))
  return (
    <Panel title={t.relations} lead={lead}>
      <Loaded query={query}>
        {({ pages }) => {
          const all = pages.flatMap(({ data }) => data)
          const side = (which: CfdiRelation['side']) => {
            const nodes = all.filter((one) => one.side === which)
            return (
              nodes.length > 0 && (
                <div>
                  <h3>{t[which]}</h3>
                  <ul>
                    {nodes.map((one) => (
                      <Node key={`${one.relation} ${one.uuid}`} one={one} fiscal_entity_id={cfdi.fiscal_entity_id} />
                    ))}
                  </ul>
                </div>
              )
            )
          }
          if (all.length === 0) return <p class={css.soft}>{t.noRelations}</p>
          return (
            <div class={css.graph}>
              {side('refers_to')}
              <p class={css.self}>
                <small>{t.this}</small>
                <b>{name}</b>
              </p>
              {side('referred_by')}
            </div>
          )
        }}
      </Loaded>
      <More list={query} />
    </Panel>
  )
}

export const historyQuery = (cfdi: Props['cfdi']) =>
  queryOptions({
    queryKey: ['cfdi-history', cfdi.fiscal_entity_id, cfdi.uuid],
    queryFn: () => answer(api.GET('/v1/cfdi/{uuid}/history', { params: paramsOf(cfdi) })),
  })

/** What happened to a document, and what was known of it on which day. */
export function History({ cfdi, lead }: Props & { lead: string }) {
  const t = useWords(words)
  const list = useWords(listWords)
  const zone = useZone()
  const called = useNames(cfdi)
  const query = useQuery(historyQuery(cfdi))
  const own = hrefOf(cfdi.uuid, cfdi.fiscal_entity_id)
  const [, go] = useLocation()
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (query.data && location.hash === '#history') place.current?.scrollIntoView()
  }, [query.data !== undefined])
  return (
    <div ref={place}>
      <Panel title={t.history} lead={lead}>
        <Loaded query={query}>
          {({ events, known }) => (
            <>
              <ol class={css.history}>
                {events.map(({ event, at, known_at, uuid, status_answer }, n) => (
                  <li key={n}>
                    <b>{t.event[event] ?? event}</b>
                    {status_answer && <span>{t.answer[status_answer]}</span>}
                    {uuid && <Link href={hrefOf(uuid, cfdi.fiscal_entity_id)}>{called(uuid)}</Link>}
                    <small>
                      {instant(at, zone)}
                      {known_at && known_at !== at && ` · ${t.known(instant(known_at, zone))}`}
                    </small>
                  </li>
                ))}
              </ol>
              {known.length > 0 && (
                <>
                  <h3>{t.knownTitle}</h3>
                  <p class={css.soft}>{t.knownLead}</p>
                  <ul class={css.history} aria-label={t.knownTitle}>
                    {known.map((one) => (
                      <li key={one.day}>
                        <b>{day(one.day)}</b>
                        <span>
                          {[list.estatus[one.estatus], one.has_xml ? t.with : t.without, one.is_substituted && list.substituted]
                            .filter(Boolean)
                            .join(', ')}
                        </span>
                      </li>
                    ))}
                  </ul>
                </>
              )}
              <form
                class={css.stood}
                onSubmit={(event) => {
                  event.preventDefault()
                  go(`${own}&as_of=${new FormData(event.currentTarget).get('as_of')}`)
                  scrollTo(0, 0)
                }}
              >
                <h3>{t.stoodTitle}</h3>
                <p class={css.soft}>{t.stoodLead}</p>
                <input type="date" name="as_of" required aria-label={t.stoodDay} />
                <Button type="submit">{t.stood}</Button>
              </form>
            </>
          )}
        </Loaded>
      </Panel>
    </div>
  )
}

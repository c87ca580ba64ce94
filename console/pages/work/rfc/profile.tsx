import { queryOptions, useQuery } from '@tanstack/preact-query'
import { useState } from 'preact/hooks'
import { answer, api } from '../../../api/client.ts'
import type { Obligation, TaxProfile } from '../../../api/routes.d.ts'
import { day, NOTHING } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Badge, type Tone } from '../../../parts/badge.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import { Facts, Panel } from '../../../parts/page.tsx'
import { Empty } from '../../../parts/states.tsx'
import { Switch } from '../../../parts/switch.tsx'
import { Table } from '../../../parts/table.tsx'
import css from './rfc.module.css'
import { words } from './words.ts'

const TONES: Record<Obligation['status'], Tone> = { filed: 'good', pending: 'wait', overdue: 'bad', unknown: 'idle' }

function Facets({ profile: { tax_status, opinion, certificates } }: { profile: TaxProfile }) {
  const t = useWords(words)
  if (!tax_status && !opinion && !certificates) return <Empty title={t.profileNone} lead={t.profileNoneLead} />
  const fields = tax_status?.fields
  const valid = certificates?.fields.certificates.filter(({ status }) => status === 'active') ?? []
  const { sense = '' } = opinion?.fields ?? {}
  return (
    <Facts
      facts={[
        [t.name, fields?.name ?? NOTHING],
        [t.status, fields?.status ?? NOTHING],
        [t.regime, fields?.regimes.map(({ code, name }) => [code, name].filter(Boolean).join(' ')).join(', ') || NOTHING],
        [t.address, fields?.address.postal_code ?? NOTHING],
        [t.since, day(fields?.operations_started_on)],
        [t.opinion, opinion ? <Badge tone={sense === 'positivo' ? 'good' : 'bad'}>{t.opinions[sense] ?? sense}</Badge> : NOTHING],
        [t.certificates, valid.map(({ kind, valid_to }) => t.until(t.kinds[kind], day(valid_to))).join(', ') || NOTHING],
      ]}
    />
  )
}

const IS_OPEN: Record<Obligation['status'], boolean> = { overdue: true, pending: true, filed: false, unknown: false }

/** What is to be filed; on demand, everything of two years. */
function Obligations({ all }: { all: readonly Obligation[] }) {
  const t = useWords(words)
  const [shown, show] = useState<'open' | 'every'>('open')
  const rows = all.filter(({ status }) => shown === 'every' || IS_OPEN[status])
  const choices = [
    ['open', t.open],
    ['every', t.every],
  ] as const
  return (
    <Panel title={t.obligations} flush actions={<Switch label={t.obligations} value={shown} choices={choices} choose={show} />}>
      {rows.length === 0 ? (
        <Empty title={t.noneOpen} />
      ) : (
        <Table<Obligation>
          label={t.obligations}
          rows={rows}
          keyOf={({ description, period }) => `${description} ${period}`}
          columns={[
            { name: t.obligation, cell: ({ description }) => description },
            { name: t.period, cell: ({ period }) => period ?? NOTHING },
            {
              name: t.due,
              cell: ({ due_date, extended_due_date }) => (
                <span class={css.date}>
                  {day(due_date)}
                  {extended_due_date && extended_due_date !== due_date && <small>{t.extended(day(extended_due_date))}</small>}
                </span>
              ),
            },
            { name: t.state, cell: ({ status }) => <Badge tone={TONES[status]}>{t.obligationStatus[status]}</Badge> },
          ]}
        />
      )}
    </Panel>
  )
}

export const profileQuery = (fiscal_entity_id: string) =>
  queryOptions({
    queryKey: ['tax-profile', fiscal_entity_id],
    queryFn: async () =>
      (await answer(
        api.GET('/v1/fiscal-entities/{fiscal_entity_id}/tax-profile', { params: { path: { fiscal_entity_id } } }),
      )) as TaxProfile,
  })

/** What the tax certificate, the opinion of compliance and the lists of the authority say. */
export function Profile({ fiscal_entity_id }: { fiscal_entity_id: string }) {
  const t = useWords(words)
  const params = { path: { fiscal_entity_id } }
  const profile = useQuery(profileQuery(fiscal_entity_id))
  const obligations = useQuery({
    queryKey: ['obligations', fiscal_entity_id],
    queryFn: () => answer(api.GET('/v1/fiscal-entities/{fiscal_entity_id}/obligations', { params })),
  })
  return (
    <>
      <Panel title={t.profile}>
        <Loaded query={profile}>{(data) => <Facets profile={data} />}</Loaded>
      </Panel>
      {obligations.data && typeof obligations.data !== 'string' && obligations.data.data.length > 0 && (
        <Obligations all={obligations.data.data} />
      )}
    </>
  )
}

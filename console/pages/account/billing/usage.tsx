import { useQuery } from '@tanstack/preact-query'
import { usageQuery } from '../../../api/queries.ts'
import type { QuotaUsage } from '../../../api/routes.d.ts'
import { binary, count, instant } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Loaded } from '../../../parts/loaded.tsx'
import { Panel } from '../../../parts/page.tsx'
import { Table } from '../../../parts/table.tsx'
import { useZone } from '../../../session.ts'
import css from '../account.module.css'
import { words } from './words.ts'

type Quota = QuotaUsage & { name: string }

/** What is used of each limit. The bar is drawn by the browser from the two numbers of the API. */
export function Usage() {
  const t = useWords(words)
  const zone = useZone()
  const query = useQuery(usageQuery)
  const shown = ({ unit }: QuotaUsage, value: number) => (unit === 'bytes' ? binary(value) : count(value))
  return (
    <Loaded query={query} rows={4}>
      {({ quotas, kept_answers }) => (
        <Panel title={t.usage} lead={t.usageLead} flush>
          <Table<Quota>
            label={t.usage}
            rows={[
              ...Object.entries(t.quotas).map(([key, name]) => ({ name, ...quotas[key as keyof typeof quotas] })),
              { name: t.keptAnswers, ...kept_answers },
            ]}
            keyOf={({ name }) => name}
            columns={[
              { name: t.what, cell: ({ name }) => name },
              {
                name: t.used,
                cell: (one) => (
                  <span class={css.used}>
                    {shown(one, one.used)}
                    {one.limit !== null && <progress aria-label={one.name} value={one.used} max={one.limit || 1} />}
                  </span>
                ),
              },
              { name: t.limit, end: true, cell: (one) => (one.limit === null ? t.unlimited : shown(one, one.limit)) },
              { name: t.resets, cell: ({ resets_at }) => resets_at && instant(resets_at, zone) },
            ]}
          />
        </Panel>
      )}
    </Loaded>
  )
}

import { useInfiniteQuery, useQuery } from '@tanstack/preact-query'
import { Link, useSearchParams } from 'wouter-preact'
import type { InsightEntriesPage, InsightEntry } from '../../../api/routes.d.ts'
import { decimal, exact, month as monthName } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { ButtonLink } from '../../../parts/button.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import { More } from '../../../parts/more.tsx'
import { Call, Figures, Panel } from '../../../parts/page.tsx'
import { Empty } from '../../../parts/states.tsx'
import { Table } from '../../../parts/table.tsx'
import { Formulas } from './quality.tsx'
import { type At, Surface } from './surface.tsx'
import { words } from './words.ts'

/** Counts of data_quality: their documents are shown with their own totals, in their own currencies. */
const COUNTS = ['missing_rate', 'dof_rate', 'not_counted', 'unreconciled_payments', 'other_parties']

/** The figure that is looked into, as its surface says it. */
export interface Sum {
  text: string
  formulas: Record<string, string>
}

interface Props {
  /** Of the API, below /v1; `…/entries` is asked. */
  path: string
  /** The figure when the address names none. */
  figure: string
  parameters: readonly string[]
  /** What figures are called. */
  names: Record<string, string>
  /** What else says which figure it is, such as a category. */
  about?: (own: Record<string, string>) => readonly (string | undefined)[]
  read: (query: Record<string, string>) => Promise<InsightEntriesPage>
  /** Null where the API says no such figure, such as one of several months together. */
  sum: (own: Record<string, string>) => Promise<Sum | null>
}

function List({ own, path, read, sum }: { own: Record<string, string> } & Pick<Props, 'path' | 'read' | 'sum'>) {
  const t = useWords(words)
  const list = useInfiniteQuery({
    queryKey: [`${path}/entries`, own],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) => read({ ...own, limit: '50', ...(cursor && { cursor }) }),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  })
  const whole = useQuery({ queryKey: [path, 'sum', own], queryFn: () => sum(own) })
  const isCount = COUNTS.includes(own['figure']!)
  const linkOf = (uuid: string) => (
    <Link href={`/cfdi/${uuid}?fiscal_entity_id=${own['fiscal_entity_id']}`}>
      <code>{uuid}</code>
    </Link>
  )
  return (
    <>
      <Loaded query={list} rows={6}>
        {({ pages }) => {
          const rows = pages.flatMap(({ data }) => data)
          return (
            <>
              {whole.data && (
                <Panel>
                  <Figures figures={[{ name: t.sum, value: whole.data.text }]} />
                  <Formulas formulas={whole.data.formulas} />
                </Panel>
              )}
              {rows.length === 0 && !list.hasNextPage ? (
                <Empty title={t.noEntries} lead={t.noEntriesLead} />
              ) : (
                <Panel flush>
                  <Table<InsightEntry>
                    label={t.entries}
                    rows={rows}
                    keyOf={({ uuid, applies_to }) => `${uuid} ${applies_to}`}
                    columns={[
                      { name: t.document, cell: ({ uuid }) => linkOf(uuid) },
                      { name: t.appliesTo, cell: ({ applies_to }) => applies_to && linkOf(applies_to) },
                      {
                        name: isCount ? t.total : t.amount,
                        end: true,
                        cell: ({ amount }) => (isCount ? decimal(amount) : exact(amount)),
                      },
                    ]}
                  />
                </Panel>
              )}
            </>
          )
        }}
      </Loaded>
      <More list={list} />
      <Call call={`GET /v1/${path}/entries?${new URLSearchParams(own)}`} />
    </>
  )
}

/** The documents behind a figure of a surface, with the part that each adds to it. */
export function Entries({ path, figure, parameters, names, about, read, sum }: Props) {
  const t = useWords(words)
  const [asked] = useSearchParams()
  const shown = { figure, ...Object.fromEntries(asked) } as Record<string, string>
  const ownOf = ({ own, fiscal_entity_id }: At) => ({ fiscal_entity_id, figure, ...own('figure', ...parameters) })
  const aboutOf = (own: Record<string, string>) =>
    [
      ...(about?.(own) ?? []),
      own['rfc'],
      own['period'] ? monthName(own['period'], 'long') : [own['from'], own['to']].filter(Boolean).join(' – '),
    ].filter(Boolean)
  return (
    <Surface
      title={[names[shown['figure']!] ?? shown['figure'], ...aboutOf(shown)].join(' · ')}
      lead={t.entriesLead}
      actions={({ own, fiscal_entity_id }) => (
        <ButtonLink
          href={`/${path}?${new URLSearchParams({ fiscal_entity_id, ...own('period', 'from', 'to', 'profile', 'annual_income') })}`}
        >
          {t.back}
        </ButtonLink>
      )}
    >
      {(at) => <List own={ownOf(at)} path={path} read={read} sum={sum} />}
    </Surface>
  )
}

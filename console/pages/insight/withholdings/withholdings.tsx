import { useInfiniteQuery } from '@tanstack/preact-query'
import { answer, api } from '../../../api/client.ts'
import type { paths, Withholdings } from '../../../api/routes.d.ts'
import { useWords } from '../../../language.ts'
import { Chips } from '../../../parts/chips.tsx'
import { Select } from '../../../parts/field.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import { More } from '../../../parts/more.tsx'
import { Call } from '../../../parts/page.tsx'
import { Empty } from '../../../parts/states.tsx'
import { Switch } from '../../../parts/switch.tsx'
import { Basis, Incomplete } from '../surface/quality.tsx'
import surface from '../surface/surface.module.css'
import { type At, Range, Surface } from '../surface/surface.tsx'
import { Rows } from './rows.tsx'
import { Totals } from './totals.tsx'
import { words } from './words.ts'

type Query = NonNullable<paths['/v1/cfdi/withholdings']['get']['parameters']['query']>

const FILTERS = ['impuesto', 'concept_class', 'source', 'missing', 'role'] as const
type Chosen = 'impuesto' | 'concept_class' | 'source'

function Filters({ at: { said, change } }: { at: At }) {
  const t = useWords(words)
  const choices: Record<Chosen, Record<string, string>> = {
    impuesto: { ISR: 'ISR', IVA: 'IVA', IEPS: 'IEPS' },
    concept_class: t.classOf,
    source: t.sourceOf,
  }
  const names = Object.keys(choices) as Chosen[]
  const chips = [
    ...names.filter(said).map((name) => ({ name: name as string, label: t[name], value: choices[name][said(name)] ?? said(name) })),
    ...(said('missing') ? [{ name: 'missing', label: t.state, value: t.missing }] : []),
  ]
  return (
    <>
      <div class={surface.bar}>
        <Switch
          label={t.who}
          value={said('role')}
          choices={[['', t.all], ...(['withheld_by_us', 'withheld_from_us'] as const).map((one) => [one, t.role[one]] as const)]}
          choose={(role) => change({ role })}
        />
      </div>
      <Chips
        chips={chips}
        remove={(name) => change({ [name]: '' })}
        clear={() => change(Object.fromEntries(FILTERS.map((name) => [name, ''])))}
      >
        {names.map((name) => (
          <Select key={name} label={t[name]} value={said(name)} onChange={({ currentTarget: { value } }) => change({ [name]: value })}>
            <option value="">{t.any}</option>
            {Object.entries(choices[name]).map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </Select>
        ))}
        <Select label={t.state} value={said('missing')} onChange={({ currentTarget: { value } }) => change({ missing: value })}>
          <option value="">{t.any}</option>
          <option value="true">{t.missing}</option>
        </Select>
      </Chips>
    </>
  )
}

function All({ at }: { at: At }) {
  const t = useWords(words)
  const { fiscal_entity_id, own } = at
  const query = { fiscal_entity_id, ...own('from', 'to', ...FILTERS) }
  const isFiltered = FILTERS.some(at.said)
  const list = useInfiniteQuery({
    queryKey: ['withholdings', query],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) =>
      // An address may hold any text: what the API does not know it refuses, and the page says so.
      answer(
        api.GET('/v1/cfdi/withholdings', { params: { query: { ...(query as Query), limit: 25, ...(cursor && { cursor }) } } }),
      ) as Promise<Withholdings>,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  })
  return (
    <>
      <Loaded query={list} rows={8}>
        {({ pages }) => {
          const first = pages[0]!
          const rows = pages.flatMap(({ data }) => data)
          return (
            <>
              <Incomplete of={first.data_quality} />
              {first.totals.length > 0 && <Totals rows={first.totals} fiscal_entity_id={fiscal_entity_id} />}
              {first.totals.length > 0 || isFiltered ? <Filters at={at} /> : null}
              {rows.length > 0 ? (
                <Rows rows={rows} fiscal_entity_id={fiscal_entity_id} />
              ) : isFiltered ? (
                <Empty title={t.noneFiltered} lead={t.noneFilteredLead} />
              ) : (
                <Empty title={t.none} lead={t.noneLead} />
              )}
              <div class={surface.bar}>
                <More list={list} />
              </div>
              <Basis of={first} />
            </>
          )
        }}
      </Loaded>
      <Call call={`GET /v1/cfdi/withholdings?${new URLSearchParams(query)}`} />
    </>
  )
}

export default function WithholdingsPage() {
  const t = useWords(words)
  return (
    <Surface title={t.title} lead={t.lead} bar={Range}>
      {(at) => <All at={at} />}
    </Surface>
  )
}

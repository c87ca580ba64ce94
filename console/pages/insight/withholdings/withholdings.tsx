import type { Withholdings } from '../../../api/routes.d.ts'
import { useWords } from '../../../language.ts'
import { Chips } from '../../../parts/chips.tsx'
import { Select } from '../../../parts/field.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import { More } from '../../../parts/more.tsx'
import { Empty } from '../../../parts/states.tsx'
import { Switch } from '../../../parts/switch.tsx'
import { Basis } from '../figures/basis.tsx'
import css from '../figures/figures.module.css'
import { usePages } from '../figures/read.ts'
import { State } from '../figures/state.tsx'
import { type Asked, Surface } from '../figures/surface.tsx'
import { Rows } from './rows.tsx'
import { Totals } from './totals.tsx'
import { words } from './words.ts'

const PATH = '/v1/cfdi/withholdings'
const FILTERS = ['impuesto', 'concept_class', 'source', 'missing', 'role'] as const
type Chosen = 'impuesto' | 'concept_class' | 'source'

function Filters({ said, change }: Asked) {
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
      <div class={css.bar}>
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

function All(asked: Asked) {
  const t = useWords(words)
  const { own, said } = asked
  const isFiltered = FILTERS.some(said)
  const list = usePages<Withholdings>(PATH, own)
  return (
    <Loaded query={list} rows={8}>
      {({ pages }) => {
        const first = pages[0]!
        const { fiscal_entity_id } = first
        const rows = pages.flatMap(({ data }) => data)
        return (
          <State of={first}>
            {first.totals.length > 0 && <Totals rows={first.totals} fiscal_entity_id={fiscal_entity_id} />}
            {first.totals.length > 0 || isFiltered ? <Filters {...asked} /> : null}
            {rows.length > 0 ? (
              <Rows rows={rows} fiscal_entity_id={fiscal_entity_id} />
            ) : isFiltered ? (
              <Empty title={t.noneFiltered} lead={t.noneFilteredLead} />
            ) : (
              <Empty title={t.none} lead={t.noneLead} />
            )}
            <div class={css.bar}>
              <More list={list} />
            </div>
            <Basis of={first} labels={t.formulas} />
          </State>
        )
      }}
    </Loaded>
  )
}

export default function WithholdingsPage() {
  const t = useWords(words)
  return (
    <Surface title={t.title} lead={t.lead} path={PATH} names={['from', 'to', ...FILTERS]}>
      {({ own, said, change }) => <All {...{ own, said, change }} />}
    </Surface>
  )
}

import type { ComponentChildren } from 'preact'
import type { InsightBasis, InsightQuality, Risk } from '../../../api/routes.d.ts'
import { count, day } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Badge } from '../../../parts/badge.tsx'
import { Facts, Panel } from '../../../parts/page.tsx'
import { Table } from '../../../parts/table.tsx'
import { useRules, useSentence } from '../sentences/sentences.ts'
import { Drill } from './drill.tsx'
import css from './figures.module.css'
import { inWords } from './formulas.ts'
import { words } from './words.ts'

/** What every surface says of its figures. */
export type Envelope = Omit<Risk, 'data' | 'has_more' | 'next_cursor'>

/** The figures of `data_quality` that are said only where they are not zero. */
const LEFT_OUT = [
  'without_xml',
  'repse_unknown',
  'substituted',
  'missing_rate',
  'dof_rate',
  'unreconciled_payments',
  'other_parties',
  'not_counted',
] as const

function Quality({ quality }: { quality: InsightQuality }) {
  const t = useWords(words)
  const { drilldown } = quality
  const fact = (key: string, name: string, text: string): [string, ComponentChildren] => [
    name,
    <Drill key={key} to={drilldown[key]} label={name} text={text} />,
  ]
  const left = LEFT_OUT.filter((name) => quality[name] !== null && quality[name] !== 0)
  return (
    <Facts
      facts={[
        fact('with_xml', t.withXml, t.of(count(quality.with_xml), count(quality.cfdi_total))),
        ...left.map((name) => fact(name, t.quality[name], count(quality[name]))),
      ]}
    />
  )
}

/** A member of the API, or the key of a rule, within its sentence. */
const CODE = /\b[a-z]+(?:[._][a-z0-9]+)+\b/g

type Labels = Record<string, string>

interface FormulasProps {
  formulas: Record<string, string>
  /** What the page calls figures. */
  labels: Labels
  /** What it calls members of the API that formulas name. */
  members?: Labels
  /** Which of them, where not all. */
  names?: readonly string[]
}

/** How figures are computed: all of them, or those that are named. */
export function Formulas({ formulas, labels, members = {}, names = Object.keys(formulas) }: FormulasProps) {
  const say = useSentence()
  const rules = useRules()
  const named = (code: string): string => {
    const name = labels[code] ?? rules?.nameOf(code) ?? code
    return name === code ? code : `“${name}”`
  }
  return (
    <dl class={css.formulas}>
      {names
        .filter((name) => formulas[name])
        .map((name) => (
          <div key={name}>
            <dt title={name}>{labels[name] ?? name}</dt>
            <dd>{inWords(say(formulas[name]!), members).replace(CODE, named)}</dd>
          </div>
        ))}
    </dl>
  )
}

type Rule = InsightBasis['rules'][number]

function Rules({ rules }: { rules: readonly Rule[] }) {
  const t = useWords(words)
  const say = useSentence()
  const said = useRules()
  if (!said) return null
  return (
    <details class={css.basis}>
      <summary>{t.rules}</summary>
      <Table<Rule>
        label={t.rules}
        rows={rules}
        keyOf={({ key, valid_from }) => key + valid_from}
        columns={[
          { name: t.rule, cell: ({ key }) => <span title={key}>{said.nameOf(key)}</span> },
          { name: t.value, cell: ({ key, value }) => <span class={css.value}>{said.valueOf(key, value)}</span> },
          { name: t.ruleRef, cell: ({ rule_ref, source }) => <span title={source}>{say(rule_ref)}</span> },
          { name: t.since, cell: ({ valid_from }) => day(valid_from) },
          {
            name: t.certainty,
            cell: ({ confidence }) => <Badge tone={confidence === 'verified' ? 'good' : 'wait'}>{t.confidence[confidence]}</Badge>,
          },
        ]}
      />
    </details>
  )
}

/** At the end of a page: what its figures leave out, how each one is computed, and by which rules. */
export function Basis({
  of: { basis, data_quality },
  labels,
  members,
}: {
  of: Pick<Envelope, 'basis' | 'data_quality'>
  labels: Labels
  members?: Labels
}) {
  const t = useWords(words)
  const say = useSentence()
  const { formulas, notes, rules } = basis
  return (
    <Panel title={t.basis}>
      <Quality quality={data_quality} />
      <details class={css.basis}>
        <summary>{t.formulas}</summary>
        <Formulas formulas={formulas} labels={labels} members={members ?? {}} />
        <ul>
          {notes.map((note) => (
            <li key={note}>{say(note)}</li>
          ))}
        </ul>
      </details>
      {rules.length > 0 && <Rules rules={rules} />}
    </Panel>
  )
}

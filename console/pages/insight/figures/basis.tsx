import type { ComponentChildren } from 'preact'
import { Link } from 'wouter-preact'
import type { InsightBasis, InsightQuality, Risk } from '../../../api/routes.d.ts'
import { count, day, month } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Badge } from '../../../parts/badge.tsx'
import { Facts, Panel } from '../../../parts/page.tsx'
import { useSentence } from '../sentences/sentences.ts'
import { Drill } from './drill.tsx'
import css from './figures.module.css'
import { words } from './words.ts'

/** What every surface says of its figures. */
export type Envelope = Omit<Risk, 'data' | 'has_more' | 'next_cursor'>

/** A month or a day, as the API takes and says it. */
const rangeEnd = (text: string): string => (text.length === 7 ? month(text, 'long') : day(text))

/** Which months the figures are of, and how complete what they rest on is. */
export function State({ of }: { of: Envelope }) {
  const t = useWords(words)
  const { months_missing, months_downloading, cut_months } = of.data_quality
  const isCut = cut_months.issued.length > 0 || cut_months.received.length > 0
  return (
    <p class={css.state}>
      <span>{t.range(rangeEnd(of.from), rangeEnd(of.to), day(of.as_of))}</span>
      {months_downloading > 0 && <Badge tone="going">{t.downloading(count(months_downloading))}</Badge>}
      {months_missing > 0 && (
        <Link href={`/rfcs/${of.fiscal_entity_id}`}>
          <Badge tone="bad">{t.missing(count(months_missing))}</Badge>
        </Link>
      )}
      {isCut && <Badge tone="idle">{t.cut}</Badge>}
      {of.window_state === 'empty' ? (
        <Badge tone="wait">{t.emptyWindow}</Badge>
      ) : (
        months_downloading === 0 && months_missing === 0 && <Badge tone="good">{t.complete}</Badge>
      )}
    </p>
  )
}

/** The figures of `data_quality` that are said only where they are not zero. */
const LEFT_OUT = [
  'without_xml',
  'substituted',
  'missing_rate',
  'dof_rate',
  'unreconciled_payments',
  'other_parties',
  'not_counted',
] as const

const following = (month: string): string => {
  const [year, n] = month.split('-') as [string, string]
  return n === '12' ? `${Number(year) + 1}-01` : `${year}-${String(Number(n) + 1).padStart(2, '0')}`
}

/** Months that follow one another as one stretch: `ene 18 – nov 23`. */
function stretchesOf(months: readonly string[]): string[] {
  const stretches: [first: string, last: string][] = []
  for (const one of months) {
    const open = stretches.at(-1)
    if (open && following(open[1]) === one) open[1] = one
    else stretches.push([one, one])
  }
  return stretches.map(([first, last]) => (first === last ? month(first) : `${month(first)} – ${month(last)}`))
}

const DIRECTIONS = ['issued', 'received'] as const

function Quality({ quality }: { quality: InsightQuality }) {
  const t = useWords(words)
  const { drilldown, missing_months, cut_months } = quality
  const left = LEFT_OUT.filter((name) => quality[name] !== null && quality[name] !== 0)
  const facts: [string, ComponentChildren][] = [
    [
      t.withXml,
      <Drill key="xml" to={drilldown['with_xml']} label={t.withXml} text={t.of(count(quality.with_xml), count(quality.cfdi_total))} />,
    ],
    ...left.map((name): [string, ComponentChildren] => [
      t.quality[name],
      <Drill key={name} to={drilldown[name]} label={t.quality[name]} text={count(quality[name])} />,
    ]),
    ...DIRECTIONS.flatMap((direction): [string, ComponentChildren][] =>
      missing_months[direction].length > 0
        ? [[`${t.missingMonths} (${t[direction].toLowerCase()})`, stretchesOf(missing_months[direction]).join(', ')]]
        : [],
    ),
    ...DIRECTIONS.flatMap((direction): [string, ComponentChildren][] =>
      cut_months[direction].length > 0
        ? [
            [
              `${t.cutMonths} (${t[direction].toLowerCase()})`,
              cut_months[direction].map(({ from, to }) => `${day(from)} – ${day(to)}`).join(', '),
            ],
          ]
        : [],
    ),
  ]
  return <Facts facts={facts} />
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** At the end of a page: what its figures leave out, and how each one is computed. */
export function Basis({ of }: { of: Envelope }) {
  const t = useWords(words)
  const { formulas, notes, rules }: InsightBasis = of.basis
  const say = useSentence()
  return (
    <Panel title={t.basis}>
      <Quality quality={of.data_quality} />
      <details class={css.basis}>
        <summary>{t.formulas}</summary>
        <dl>
          {Object.entries(formulas).map(([name, formula]) => (
            <div key={name}>
              <dt>
                <code>{name}</code>
              </dt>
              <dd>{say(formula)}</dd>
            </div>
          ))}
        </dl>
        <ul>
          {notes.map((note) => (
            <li key={note}>{say(note)}</li>
          ))}
        </ul>
      </details>
      {rules.length > 0 && (
        <details class={css.basis}>
          <summary>{t.rules}</summary>
          <dl>
            {rules.map(({ key, value, rule_ref, confidence }) => (
              <div key={key}>
                <dt>
                  <code>{key}</code>
                </dt>
                <dd>
                  {value !== null && <code>{textOf(value)}</code>} {say(rule_ref)} · {t.confidence[confidence]}
                </dd>
              </div>
            ))}
          </dl>
        </details>
      )}
    </Panel>
  )
}

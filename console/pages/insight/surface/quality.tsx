import type { InsightBasis, InsightQuality } from '../../../api/routes.d.ts'
import { count, day, instant, month as monthName } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Badge } from '../../../parts/badge.tsx'
import { Facts, Panel } from '../../../parts/page.tsx'
import { Table } from '../../../parts/table.tsx'
import { useZone } from '../../../session.ts'
import { Drill } from '../figures/drill.tsx'
import { useSentence } from '../sentences/sentences.ts'
import css from './surface.module.css'
import { words } from './words.ts'

const DIRECTIONS = ['issued', 'received'] as const

/** Says that months are missing or cut, before anybody believes a zero. Nothing where all are there. */
export function Incomplete({ of }: { of: InsightQuality }) {
  const t = useWords(words)
  const { missing_months, cut_months, months_missing, months_downloading } = of
  const isMissing = months_missing > 0 || months_downloading > 0
  const facts = DIRECTIONS.flatMap((direction) => [
    [t.missingOf(t[direction]), missing_months[direction].map((one) => monthName(one)).join(', ')] as const,
    [
      t.cutOf(t[direction]),
      cut_months[direction].map(({ month, from, to }) => t.days(monthName(month), day(from), day(to))).join(', '),
    ] as const,
  ]).filter(([, text]) => text)
  if (!isMissing && facts.length === 0) return null
  return (
    <div class={css.note} role="note">
      <Badge tone={isMissing ? 'wait' : 'idle'}>{isMissing ? t.incomplete : t.cutShort}</Badge>
      <p>
        {isMissing ? t.missing(count(months_missing)) : t.cut} {months_downloading > 0 && t.downloading(count(months_downloading))}
      </p>
      {facts.length > 0 && (
        <details>
          <summary>{t.which}</summary>
          <Facts facts={facts} />
        </details>
      )}
    </div>
  )
}

/** How figures are computed. */
export function Formulas({ formulas, names }: { formulas: Record<string, string>; names?: readonly string[] }) {
  const say = useSentence()
  return (
    <dl class={css.formulas}>
      {(names ?? Object.keys(formulas))
        .filter((name) => formulas[name])
        .map((name) => (
          <div key={name}>
            <dt>
              <code>{name}</code>
            </dt>
            <dd>{say(formulas[name]!)}</dd>
          </div>
        ))}
    </dl>
  )
}

type Rule = InsightBasis['rules'][number]

/** What an answer rests on: what it leaves out, with the way there, its formulas, its rules. */
export function Basis({
  of: { basis, data_quality, as_of },
}: {
  of: { basis: InsightBasis; data_quality: InsightQuality; as_of: string }
}) {
  const t = useWords(words)
  const zone = useZone()
  const say = useSentence()
  const { drilldown } = data_quality
  const fact = (name: string, key: keyof InsightQuality, text: string) =>
    [name, <Drill key={key} to={drilldown[key]} label={name} text={text} />] as const
  const counted = (name: string, key: 'without_xml' | 'missing_rate' | 'dof_rate' | 'substituted' | 'not_counted') =>
    fact(name, key, count(data_quality[key]))
  return (
    <Panel title={t.quality} lead={t.qualityLead(instant(as_of, zone))}>
      <Facts
        facts={[
          fact(t.withXml, 'with_xml', t.of(count(data_quality.with_xml), count(data_quality.cfdi_total))),
          counted(t.withoutXml, 'without_xml'),
          fact(t.unreconciled, 'unreconciled_payments', count(data_quality.unreconciled_payments)),
          fact(t.otherParties, 'other_parties', count(data_quality.other_parties)),
          counted(t.missingRate, 'missing_rate'),
          counted(t.dofRate, 'dof_rate'),
          counted(t.substituted, 'substituted'),
          counted(t.notCounted, 'not_counted'),
        ]}
      />
      <details class={css.basis}>
        <summary>{t.formulas}</summary>
        <Formulas formulas={basis.formulas} />
        <ul>
          {basis.notes.map((note) => (
            <li key={note}>{say(note)}</li>
          ))}
        </ul>
        {basis.rules.length > 0 && (
          <Table<Rule>
            label={t.rules}
            rows={basis.rules}
            keyOf={({ key, valid_from }) => key + valid_from}
            columns={[
              { name: t.rule, cell: ({ key }) => <code>{key}</code> },
              { name: t.ruleRef, cell: ({ rule_ref, source }) => <span title={source}>{say(rule_ref)}</span> },
              { name: t.since, cell: ({ valid_from }) => day(valid_from) },
              {
                name: t.confidence,
                cell: ({ confidence }) => <Badge tone={confidence === 'verified' ? 'good' : 'wait'}>{t.confident[confidence]}</Badge>,
              },
            ]}
          />
        )}
      </details>
    </Panel>
  )
}

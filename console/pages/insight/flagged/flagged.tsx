import { useId } from 'preact/hooks'
import { Link } from 'wouter-preact'
import type { Risk, RiskRow } from '../../../api/routes.d.ts'
import chart from '../../../charts/charts.module.css'
import { count, day, money, NOTHING } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Badge, type Tone } from '../../../parts/badge.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import { type Endless, More } from '../../../parts/more.tsx'
import { Panel } from '../../../parts/page.tsx'
import { Empty } from '../../../parts/states.tsx'
import { Switch } from '../../../parts/switch.tsx'
import { Table } from '../../../parts/table.tsx'
import { words as listWords } from '../../work/cfdi/words.ts'
import { Basis } from '../figures/basis.tsx'
import { documentName, useDocuments } from '../figures/documents.ts'
import figures from '../figures/figures.module.css'
import { type Own, PAGE, usePages } from '../figures/read.ts'
import { Named } from '../figures/share.tsx'
import { State } from '../figures/state.tsx'
import { type Asked, Surface } from '../figures/surface.tsx'
import { useSentence } from '../sentences/sentences.ts'
import css from './flagged.module.css'
import { words } from './words.ts'

const PATH = '/v1/cfdi/risk'

type Level = RiskRow['level']
type Flag = RiskRow['flags'][number]
const LEVELS: readonly Level[] = ['critical', 'high', 'medium', 'low']
const TONES: Record<Level, Tone> = { critical: 'bad', high: 'bad', medium: 'wait', low: 'idle' }
/** As far as a score reaches. */
const MOST = 100

/** A score as the weights that it is made of, one after the other. */
function Score({ of: { score, level, flags } }: { of: RiskRow }) {
  const t = useWords(words)
  let at = 0
  return (
    <span class={css.score}>
      <span>
        <b>{count(score)}</b> <Badge tone={TONES[level]}>{t.level[level]}</Badge>
      </span>
      <svg viewBox={`0 0 ${MOST} 7`} preserveAspectRatio="none" aria-hidden="true">
        <rect class={css.rest} width={MOST} height="7" />
        {flags.map(({ code, weight, severity }) => {
          const from = at
          at += weight
          return <rect key={code} class={chart[TONES[severity]]} x={from} width={Math.max(0, Math.min(MOST, at) - from - 0.8)} height="7" />
        })}
      </svg>
    </span>
  )
}

const AMOUNTS = ['total_mxn', 'limit']

/** What a flag rests on, as people say it. */
function useEvidence() {
  const t = useWords(words)
  const { lists, situacion, estatus } = useWords(listWords)
  const named: Record<string, Record<string, string>> = { source: lists, situacion, estatus }
  const textOf = (name: string, value: unknown): string => {
    if (value === null || value === undefined) return NOTHING
    if (typeof value === 'boolean') return value ? t.yes : t.no
    if (Array.isArray(value)) return value.map((one) => textOf(name, one)).join(', ')
    const text = String(value)
    if (AMOUNTS.includes(name)) return money(text)
    return named[name]?.[text] ?? (/^\d{4}-\d\d-\d\d(T|$)/.test(text) ? day(text) : text)
  }
  return textOf
}

function Flags({ of }: { of: readonly Flag[] }) {
  const t = useWords(words)
  const say = useSentence()
  const textOf = useEvidence()
  return (
    <div class={css.flags}>
      {of.map(({ code, weight, severity }) => (
        <Badge key={code} tone={TONES[severity]}>
          {t.short[code] ?? code} +{count(weight)}
        </Badge>
      ))}
      <details>
        <summary>
          <small>{t.why}</small>
        </summary>
        <ul>
          {of.map(({ code, message, rule_ref, evidence }) => (
            <li key={code}>
              {t.flag[code] ?? message} <small>{say(rule_ref)}</small>
              <dl>
                {Object.entries(evidence).map(([name, value]) => (
                  <div key={name}>
                    <dt>{t.evidence[name] ?? <code>{name}</code>}</dt>
                    <dd>{textOf(name, value)}</dd>
                  </div>
                ))}
              </dl>
            </li>
          ))}
        </ul>
      </details>
    </div>
  )
}

function Rows({ rows, fiscal_entity_id, list }: { rows: readonly RiskRow[]; fiscal_entity_id: string; list: Endless }) {
  const t = useWords(words)
  const documents = useDocuments(
    fiscal_entity_id,
    rows.map(({ uuid }) => uuid),
    PAGE,
  )
  const nameOf = (uuid: string) => documentName(uuid, documents.get(uuid))
  return (
    <Panel flush>
      <Table<RiskRow>
        label={t.title}
        rows={rows}
        keyOf={({ uuid }) => uuid}
        list={list}
        columns={[
          { name: t.score, by: ({ score }) => score, cell: (one) => <Score of={one} /> },
          {
            name: t.document,
            by: ({ issued_at }) => issued_at,
            cell: ({ uuid, direction, issued_at }) => (
              <span>
                <Link href={`/cfdi/${uuid}?fiscal_entity_id=${fiscal_entity_id}`} aria-label={t.open(nameOf(uuid))} title={uuid}>
                  {nameOf(uuid)}
                </Link>
                <br />
                <small class={figures.nowrap}>
                  {t.direction[direction]}
                  <br />
                  {day(issued_at)}
                </small>
              </span>
            ),
          },
          {
            name: t.party,
            by: ({ counterparty_rfc, counterparty_name }) => counterparty_name ?? counterparty_rfc,
            cell: ({ counterparty_rfc, counterparty_name }) => <Named name={counterparty_name} code={counterparty_rfc} />,
          },
          {
            name: t.total,
            end: true,
            by: ({ total_mxn }) => total_mxn,
            cell: ({ total, currency, total_mxn }) => (
              <span>
                {money(total, currency)}
                {currency !== 'MXN' && total_mxn !== null && (
                  <>
                    <br />
                    <small>{money(total_mxn)}</small>
                  </>
                )}
              </span>
            ),
          },
          { name: t.flags, cell: ({ flags }) => <Flags of={flags} /> },
        ]}
      />
    </Panel>
  )
}

function All({ own }: { own: Own }) {
  const t = useWords(words)
  const list = usePages<Risk>(PATH, own)
  return (
    <Loaded query={list} rows={8}>
      {({ pages }) => {
        const first = pages[0]!
        const rows = pages.flatMap(({ data }) => data)
        return (
          <State of={first}>
            {rows.length === 0 ? (
              <Empty title={t.none} lead={t.noneLead} />
            ) : (
              <Rows rows={rows} fiscal_entity_id={first.fiscal_entity_id} list={list} />
            )}
            <div class={figures.bar}>
              <More list={list} />
            </div>
            <Basis of={first} labels={t.formulas} />
          </State>
        )
      }}
    </Loaded>
  )
}

interface PickProps extends Pick<Asked, 'own' | 'change'> {
  name: string
  label: string
  choices: Record<string, string>
}

/** One of the values of a parameter. An address may name several of them, separated by commas. */
function Pick({ name, label, own, change, choices }: PickProps) {
  const t = useWords(words)
  const value = own[name] ?? ''
  const id = useId()
  // A label around a list would be read with all that can be chosen.
  return (
    <span>
      <label for={id}>{label}</label>{' '}
      <select id={id} value={value} onChange={({ currentTarget }) => change({ [name]: currentTarget.value })}>
        <option value="">{t.any}</option>
        {value && !choices[value] && <option value={value}>{value}</option>}
        {Object.entries(choices).map(([one, text]) => (
          <option key={one} value={one}>
            {text}
          </option>
        ))}
      </select>
    </span>
  )
}

export default function FlaggedPage() {
  const t = useWords(words)
  return (
    <Surface
      title={t.title}
      lead={t.lead}
      path={PATH}
      names={['from', 'to', 'direction', 'level', 'code', 'min_total']}
      controls={({ own, change }) => (
        <>
          <Switch
            label={t.show}
            value={own['direction'] ?? ''}
            choices={[
              ['', t.both],
              ['issued', t.direction.issued],
              ['received', t.direction.received],
            ]}
            choose={(value) => change({ direction: value })}
          />
          <Pick
            {...{ name: 'level', label: t.levelName, own, change }}
            choices={Object.fromEntries(LEVELS.map((level) => [level, t.level[level]]))}
          />
          <label>
            {t.least}
            <input
              type="text"
              inputMode="decimal"
              pattern="[0-9]+([.][0-9]{1,6})?"
              size={10}
              value={own['min_total'] ?? ''}
              onChange={({ currentTarget }) => currentTarget.checkValidity() && change({ min_total: currentTarget.value.trim() })}
            />
          </label>
          <Pick {...{ name: 'code', label: t.flagName, own, change }} choices={t.short} />
        </>
      )}
    >
      {({ own }) => <All own={own} />}
    </Surface>
  )
}

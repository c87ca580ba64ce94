import { Link } from 'wouter-preact'
import type { RiskIndicator, RiskIndicators } from '../../../api/routes.d.ts'
import { Gauge } from '../../../charts/gauge.tsx'
import { sizeOf } from '../../../charts/scale.ts'
import { count, decimal, NOTHING } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Badge } from '../../../parts/badge.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import { Panel } from '../../../parts/page.tsx'
import { Basis } from '../figures/basis.tsx'
import { Drill, rate } from '../figures/drill.tsx'
import { type Own, useWhole } from '../figures/read.ts'
import { State } from '../figures/state.tsx'
import { Surface } from '../figures/surface.tsx'
import { useSentence } from '../sentences/sentences.ts'
import css from './risk.module.css'
import { words } from './words.ts'

const PATH = '/v1/analytics/risk'

type Key = RiskIndicator['key']
const SHARES: readonly Key[] = [
  'intercompany_share',
  'foreign_exchange_share',
  'cash_share',
  'cancelled_issued_rate',
  'cancelled_received_rate',
  'ppd_overdue_share',
  'repse_at_risk_share',
]
const INDEXES: readonly Key[] = ['customer_concentration', 'supplier_concentration']
/** How far the picture of a share or an index reaches, in its own unit. */
const MOST = { share: 100, index: 10_000 }

/** A value or its threshold, as the indicator has them. */
function useSaying({ key }: RiskIndicator) {
  const t = useWords(words)
  return (value: string | number | null): string => {
    if (value === null) return key === 'blacklist_status' ? t.onNoList : NOTHING
    if (SHARES.includes(key)) return rate(String(value))
    if (typeof value === 'number') return count(value)
    return t.value[value] ?? (/^-?\d+(\.\d+)?$/.test(value) ? decimal(value) : value)
  }
}

function Indicator({ of }: { of: RiskIndicator }) {
  const t = useWords(words)
  const say = useSaying(of)
  const told = useSentence()
  const { key, value, threshold, risky, sample_size, formula, drilldown } = of
  const isKnown = value !== null || key === 'blacklist_status'
  const most = SHARES.includes(key) ? MOST.share : INDEXES.includes(key) ? MOST.index : null
  const name = t.names[key]
  return (
    <Panel title={name}>
      <span class={css.value}>
        <Drill to={drilldown['value']} label={name} text={say(value)} />
        <Badge tone={!isKnown ? 'idle' : risky ? 'bad' : 'good'}>{!isKnown ? t.unknown : risky ? t.risky : t.fine}</Badge>
      </span>
      {most !== null && (
        <Gauge
          value={value === null ? null : String(value)}
          most={most}
          zones={[
            { upTo: sizeOf(String(threshold)), series: 'good' },
            { upTo: most, series: 'bad' },
          ]}
        />
      )}
      <small>
        {key === 'blacklist_status' ? t.anyList : t.threshold(say(threshold))} · {t.sample(count(sample_size))}
      </small>
      <small>{told(formula)}</small>
    </Panel>
  )
}

function All({ own }: { own: Own }) {
  const t = useWords(words)
  const query = useWhole<RiskIndicators>(PATH, own)
  return (
    <Loaded query={query} rows={10}>
      {(of) => (
        <>
          <State of={of} />
          <p>
            <Link href={`/cfdi/risk?fiscal_entity_id=${of.fiscal_entity_id}&from=${of.from}&to=${of.to}`}>{t.documents}</Link>
          </p>
          <br />
          <div class={css.cards}>
            {of.data.map((one) => (
              <Indicator key={one.key} of={one} />
            ))}
          </div>
          <Basis of={of} labels={t.names} />
        </>
      )}
    </Loaded>
  )
}

export default function RiskPage() {
  const t = useWords(words)
  return (
    <Surface title={t.title} lead={t.lead} path={PATH} names={['from', 'to']}>
      {({ own }) => <All own={own} />}
    </Surface>
  )
}

import { type ComponentChildren, createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { Link } from 'wouter-preact'
import type { InsightQuality, MissingMonths } from '../../../api/routes.d.ts'
import { count, day, instant, month } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Badge } from '../../../parts/badge.tsx'
import { Facts } from '../../../parts/page.tsx'
import { Empty } from '../../../parts/states.tsx'
import { useZone } from '../../../session.ts'
import type { Envelope } from './basis.tsx'
import { unlessUnknown } from './drill.tsx'
import css from './figures.module.css'
import { following } from './months.ts'
import { words } from './words.ts'

/** A month or a day, as the API takes and says it. */
const rangeEnd = (text: string): string => (text.length === 7 ? month(text, 'long') : day(text))

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
type Direction = (typeof DIRECTIONS)[number]

/** Which months were not downloaded. */
export const Missing = createContext<MissingMonths>({ issued: [], received: [] })

/** Says a figure of a month, or of a year: a zero of what was not downloaded is none. Without a direction it is of both. */
export function useShown(): (text: string, period: string, direction?: Direction) => string {
  const missing = useContext(Missing)
  return (text, period, direction) =>
    unlessUnknown(text, !(direction ? [direction] : DIRECTIONS).some((one) => missing[one].some((month) => month.startsWith(period))))
}

/** Which months are missing, and which are shown in part. */
function Which({ of: { missing_months, cut_months } }: { of: InsightQuality }) {
  const t = useWords(words)
  const facts = DIRECTIONS.flatMap((direction) => [
    [t.missingOf(t[direction]), stretchesOf(missing_months[direction]).join(', ')] as const,
    [t.cutOf(t[direction]), cut_months[direction].map(({ from, to }) => `${day(from)} – ${day(to)}`).join(', ')] as const,
  ]).filter(([, text]) => text)
  if (facts.length === 0) return null
  return (
    <details>
      <summary>{t.which}</summary>
      <Facts facts={facts} />
    </details>
  )
}

type Stated = Pick<Envelope, 'fiscal_entity_id' | 'data_quality'> & Partial<Pick<Envelope, 'from' | 'to' | 'as_of' | 'window_state'>>

interface Props {
  of: Stated
  /** What shows figures of these months alone. */
  children?: ComponentChildren
}

/**
 * Which months figures are of, and whether all of them are there: it stands above the figures, before anybody believes a zero. Without a month
 * there are none.
 */
export function State({ of: { fiscal_entity_id, data_quality, from, to, as_of, window_state }, children }: Props) {
  const t = useWords(words)
  const zone = useZone()
  const { months_missing, months_downloading, cut_months } = data_quality
  const isMissing = months_missing > 0 || months_downloading > 0
  const isCut = DIRECTIONS.some((direction) => cut_months[direction].length > 0)
  const until = as_of && (as_of.length === 10 ? day(as_of) : instant(as_of, zone))
  const range = from && to && until && (to === as_of ? t.days(day(from), until) : t.range(rangeEnd(from), rangeEnd(to), until))
  return (
    <>
      <div class={css.state} role="note">
        {range && <span>{range}</span>}
        {months_downloading > 0 && <Badge tone="going">{t.downloading(count(months_downloading))}</Badge>}
        {months_missing > 0 && (
          <Link href={`/rfcs/${fiscal_entity_id}`}>
            <Badge tone="bad">{t.missing(count(months_missing))}</Badge>
          </Link>
        )}
        {isCut && <Badge tone="idle">{t.cut}</Badge>}
        {window_state === 'empty' ? <Badge tone="wait">{t.emptyWindow}</Badge> : !isMissing && <Badge tone="good">{t.complete}</Badge>}
        {isMissing && <p>{t.zero}</p>}
        <Which of={data_quality} />
      </div>
      {children !== undefined && isMissing && data_quality.cfdi_total === 0 ? (
        <Empty title={t.nothing} lead={t.nothingLead} action={{ label: t.toRfc, href: `/rfcs/${fiscal_entity_id}` }} />
      ) : (
        <Missing.Provider value={data_quality.missing_months}>{children}</Missing.Provider>
      )}
    </>
  )
}

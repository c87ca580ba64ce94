import type { CoverageMonth } from '../api/routes.d.ts'
import { month as monthName } from '../format.ts'
import { useWords } from '../language.ts'
import css from './charts.module.css'
import { matrixWords } from './matrix-words.ts'
import { useWidth } from './width.ts'

const SOURCES = ['sat_cfdi_issued', 'sat_cfdi_received'] as const
const LABEL = 68
const GAP = 2

export type MonthState = CoverageMonth['status'] | 'waiting'

/** A month that was asked for and not answered yet waits for the authority once an attempt has failed. */
export const stateOf = ({ status, attempts, last_code }: CoverageMonth): MonthState =>
  status === 'requested' && attempts > 0 && last_code !== null ? 'waiting' : status

const CLASS: Record<MonthState, string> = {
  complete: css.good!,
  partial: css.part!,
  requested: css.going!,
  waiting: css.wait!,
  missing: css.bad!,
  unobtainable: css.none!,
}

interface Props {
  months: readonly CoverageMonth[]
  /** With it, months are buttons. */
  choose?: (month: CoverageMonth) => void
  chosen?: CoverageMonth | null
}

/** A row for each source and a cell for each month. */
export function Matrix({ months, choose, chosen }: Props) {
  const t = useWords(matrixWords)
  const [ref, width] = useWidth()
  const names = [...new Set(months.map(({ month }) => month))].sort()
  const label = width > 420 ? LABEL : 0
  const step = Math.max(3.5, Math.min(26, (width - label) / Math.max(1, names.length)))
  const cell = step - (step > 6 ? GAP : 1)
  const tall = choose ? Math.max(16, Math.min(24, cell)) : Math.max(10, Math.min(16, cell))
  const cells = new Map(months.map((one) => [`${one.source} ${one.month}`, one]))
  const complete = months.filter(({ status }) => status === 'complete').length
  const sayOf = (one: CoverageMonth) => `${t.source[one.source]}, ${monthName(one.month, 'long')}: ${t.state[stateOf(one)]}`
  return (
    <div ref={ref}>
      {width > 0 && (
        <svg width={width} height={tall * 2 + GAP + 18} role={choose ? 'group' : 'img'} aria-label={t.label(complete, months.length)}>
          {SOURCES.flatMap((source, row) => [
            label > 0 && (
              <text key={source} class={css.tick} x={0} y={row * (tall + GAP) + tall / 2 + 4} aria-hidden="true">
                {t.source[source]}
              </text>
            ),
            ...names.map((name, n) => {
              const one = cells.get(`${source} ${name}`)
              if (!one) return null
              const drawn = (
                <rect class={CLASS[stateOf(one)]} x={label + n * step} y={row * (tall + GAP)} width={cell} height={tall} rx={2}>
                  <title>{sayOf(one)}</title>
                </rect>
              )
              if (!choose) return drawn
              const press = () => choose(one)
              return (
                <g
                  key={source + name}
                  role="button"
                  // SVG knows its attributes in lower case alone.
                  tabindex={0}
                  class={css.cell}
                  aria-label={sayOf(one)}
                  aria-pressed={chosen === one}
                  onClick={press}
                  onKeyDown={(event) => {
                    if (event.key !== 'Enter' && event.key !== ' ') return
                    event.preventDefault()
                    press()
                  }}
                >
                  {drawn}
                </g>
              )
            }),
          ])}
          {names.map(
            (name, n) =>
              (n === 0 ? !/-(1[0-2]|0[89])$/.test(name) : name.endsWith('-01')) && (
                <text key={name} class={css.tick} x={label + n * step} y={tall * 2 + GAP + 14} aria-hidden="true">
                  {name.slice(0, 4)}
                </text>
              ),
          )}
        </svg>
      )}
    </div>
  )
}

/** What the colors of the cells are. */
export function MatrixKeys() {
  const t = useWords(matrixWords)
  return (
    <ul class={css.keys}>
      {(['complete', 'partial', 'requested', 'waiting', 'missing', 'unobtainable'] as const).map((state) => (
        <li key={state}>
          <svg width="11" height="11" aria-hidden="true">
            <rect width="11" height="11" rx="3" class={CLASS[state]} />
          </svg>
          {t.state[state]}
        </li>
      ))}
    </ul>
  )
}

import type { ComponentChildren } from 'preact'
import type { Series } from './bars.tsx'
import charts from './charts.module.css'
import css from './waterfall.module.css'

export interface Fall {
  key: string
  name: string
  note?: ComponentChildren
  sign: '' | '+' | '−' | '×' | '='
  /** The figure, as the API says it. */
  figure: ComponentChildren
  /** Between which heights its bar stands; without them nothing is known of it, and nothing is drawn. */
  levels?: readonly [from: number, to: number] | undefined
  series: Series
  /** What the rows above it come to; the last one is the result. */
  is?: 'sum' | 'result'
}

const WIDTH = 1_000
const EDGE = 6

/** How figures lead to another one, from the top down: one row for each, with its bar beside it. */
export function Waterfall({ label, falls }: { label: string; falls: readonly Fall[] }) {
  const all = falls.flatMap(({ levels }) => levels ?? [])
  const [low, high] = [Math.min(0, ...all), Math.max(0, ...all)]
  const x = (level: number) => EDGE + ((level - low) / (high - low || 1)) * (WIDTH - 2 * EDGE)
  const before = (n: number) => falls.slice(0, n).findLast(({ levels, is }) => levels && is !== 'sum')?.levels?.[1]
  return (
    <ol class={css.falls} aria-label={label}>
      {falls.map(({ key, name, note, sign, figure, levels, series, is }, n) => {
        const [from, to] = (levels ?? [0, 0]).map(x) as [number, number]
        const joined = is === 'sum' ? undefined : before(n)
        return (
          <li key={key} class={is && css[is]} data-step={key}>
            <span class={css.name}>
              {name}
              {note && <small>{note}</small>}
            </span>
            <svg viewBox={`0 0 ${WIDTH} 100`} preserveAspectRatio="none" aria-hidden="true">
              <line class={css.zero} x1={x(0)} x2={x(0)} y1="0" y2="100" />
              {levels && (
                <>
                  {joined !== undefined && is !== 'result' && <line class={css.join} x1={x(joined)} x2={x(joined)} y1="0" y2="24" />}
                  <rect
                    class={is === 'result' ? css.end : is === 'sum' ? css.hollow : series === 'idle' ? css.mute : charts[series]}
                    x={Math.min(from, to)}
                    y={is === 'sum' ? 42 : 24}
                    width={Math.max(2, Math.abs(to - from))}
                    height={is === 'sum' ? 16 : 52}
                  />
                  {is === undefined && <line class={css.join} x1={to} x2={to} y1="76" y2="100" />}
                  {is === 'sum' && <line class={css.join} x1={to} x2={to} y1="0" y2="100" />}
                </>
              )}
            </svg>
            <span class={css.figure}>
              <i aria-hidden={sign === '×' ? undefined : 'true'}>{sign}</i>
              {figure}
            </span>
          </li>
        )
      })}
    </ol>
  )
}

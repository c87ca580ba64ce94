import { useState } from 'preact/hooks'
import { compact } from '../format.ts'
import css from './charts.module.css'
import { reachOf, sizeOf, ticksOf } from './scale.ts'
import { useWidth } from './width.ts'

export type Series = 'issued' | 'received' | 'good' | 'wait' | 'bad' | 'idle'

export interface Bar {
  key: string
  /** Under the bar; the long name is in what the tooltip and the screen reader say. */
  label: string
  /** The page with what the bar sums; without one the bar is no link. */
  href?: string
  /** What is read aloud and shown above it: `Agosto de 2026: emitidos $907,150.66`. */
  says: string
  /** Amounts as the API says them, one for each series. A cut one is hatched. */
  parts: readonly { series: Series; amount: string | null; isCut?: boolean }[]
}

const HEIGHT = 260
const LEFT = 58
const BOTTOM = 28
const LINE = 14
const TOP = 12
/** About as wide as half a character of a label. */
const HALF_CHARACTER = 3.4

/**
 * Groups of bars, which may go below zero. Every figure that is drawn stands in a table on the same page. A bar that would flatten all others is
 * torn, and said beneath.
 */
export function Bars({ label, bars }: { label: string; bars: readonly Bar[] }) {
  const [ref, width] = useWidth()
  const [shown, show] = useState<Bar | null>(null)
  const sizes = bars.flatMap(({ parts }) => parts.map(({ amount }) => sizeOf(amount)))
  const step = Math.max(1, (width - LEFT) / Math.max(1, bars.length))
  const every = Math.ceil(52 / step)
  // Where each bar is named, a name that would reach into the next one stands on two lines.
  const linesOf = (text: string) => (every === 1 && text.length * 2 * HALF_CHARACTER > step - 6 ? text.split(' ') : [text])
  const bottom = Math.max(1, ...bars.map(({ label: text }) => linesOf(text).length)) * LINE + BOTTOM - LINE
  const ticks = ticksOf(reachOf(sizes), -reachOf(sizes.map((size) => -size)), sizes.every(Number.isInteger))
  const [low, high] = [ticks[0]!, ticks.at(-1) || 1]
  const isTorn = (value: number) => value > high || value < low
  const torn = bars.filter(({ parts }) => parts.some(({ amount }) => isTorn(sizeOf(amount))))
  const y = (value: number) => TOP + (HEIGHT - bottom - TOP) * (1 - (Math.min(high, Math.max(low, value)) - low) / (high - low || 1))
  const most = Math.max(1, ...bars.map(({ parts }) => parts.length))
  const bar = Math.max(2, Math.min(28, (step * 0.7) / most))
  return (
    <div ref={ref} class={css.chart}>
      {width > 0 && (
        <svg width={width} height={HEIGHT} role="group" aria-label={label} onPointerLeave={() => show(null)}>
          <defs>
            {(['issued', 'received', 'good', 'wait', 'bad', 'idle'] as const).map((series) => (
              <pattern key={series} id={`cut-${series}`} width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
                <rect width="6" height="6" class={`${css[series]} ${css.faint}`} />
                <rect width="2.5" height="6" class={css[series]} />
              </pattern>
            ))}
          </defs>
          {ticks.map((tick) => (
            <g key={tick} aria-hidden="true">
              <line class={css.rule} x1={LEFT} x2={width} y1={y(tick)} y2={y(tick)} />
              <text class={css.tick} x={LEFT - 10} y={y(tick) + 4} text-anchor="end">
                {compact(tick)}
              </text>
            </g>
          ))}
          {bars.map((one, n) => {
            const x = LEFT + n * step
            const drawn = (
              <>
                <rect class={`${css.band} ${shown === one ? css.on : ''}`} x={x} y={0} width={step} height={HEIGHT - bottom} rx={6} />
                {one.parts.map(({ series, amount, isCut }, k) => {
                  const value = sizeOf(amount)
                  const [top, bottom] = [y(Math.max(value, 0)), y(Math.min(value, 0))]
                  const left = x + step / 2 + (k - one.parts.length / 2) * (bar + 1)
                  const tear = value > 0 ? top + 14 : bottom - 14
                  return (
                    <g key={series}>
                      <rect
                        class={isCut ? undefined : css[series]}
                        fill={isCut ? `url(#cut-${series})` : undefined}
                        x={left}
                        y={top}
                        width={bar}
                        height={Math.max(value === 0 ? 0 : 2, bottom - top)}
                        rx={Math.min(3, bar / 3)}
                      />
                      {isTorn(value) && <path class={css.torn} d={`M${left - 3} ${tear + 4}l${bar + 6} -8`} />}
                    </g>
                  )
                })}
              </>
            )
            const heard = { onPointerEnter: () => show(one), onFocus: () => show(one), onBlur: () => show(null) }
            return one.href ? (
              <a key={one.key} href={one.href} aria-label={one.says} {...heard}>
                {drawn}
              </a>
            ) : (
              <g key={one.key} role="img" aria-label={one.says} onPointerEnter={heard.onPointerEnter}>
                {drawn}
              </g>
            )
          })}
          {bars.map(
            ({ key, label: text }, n) =>
              n % every === (bars.length - 1) % every && (
                <text key={key} class={css.tick} text-anchor="middle" aria-hidden="true">
                  {linesOf(text).map((line, k) => (
                    <tspan
                      key={k}
                      x={Math.min(LEFT + (n + 0.5) * step, width - line.length * HALF_CHARACTER)}
                      y={HEIGHT - bottom + 20 + k * LINE}
                    >
                      {line}
                    </tspan>
                  ))}
                </text>
              ),
          )}
        </svg>
      )}
      <p class={css.says} role="status">
        {shown?.says ?? torn.map(({ says }) => says).join(' · ')}
      </p>
    </div>
  )
}

/** What the colors of a chart are. */
export const Keys = ({ keys }: { keys: readonly { series: Series; name: string }[] }) => (
  <ul class={css.keys}>
    {keys.map(({ series, name }) => (
      <li key={series}>
        <svg width="11" height="11" aria-hidden="true">
          <rect width="11" height="11" rx="3" class={css[series]} />
        </svg>
        {name}
      </li>
    ))}
  </ul>
)

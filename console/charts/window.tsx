import css from './charts.module.css'
import { useWidth } from './width.ts'

/** The authority gives CFDIs from this day on. */
const BEGIN = Date.UTC(2018, 0, 1)

export interface Span {
  name: string
  /** A day and an instant; null while there is no window. */
  from: string | null
  to: string | null
  series: 'issued' | 'received'
  /** What is read aloud. */
  says: string
}

const TALL = 12
const ROW = 24

/** What an organization may read, on a line from 2018 until now. */
export function WindowLine({ label, spans }: { label: string; spans: readonly Span[] }) {
  const [ref, width] = useWidth()
  const now = Date.now()
  const x = (at: number) => Math.max(0, Math.min(width, ((at - BEGIN) / (now - BEGIN)) * width))
  const years = Array.from({ length: new Date(now).getUTCFullYear() - 2017 }, (_, n) => 2018 + n)
  const bottom = spans.length * ROW
  return (
    <div ref={ref} class={css.chart}>
      {width > 0 && (
        <svg width={width} height={bottom + 18} role="img" aria-label={`${label}: ${spans.map(({ says }) => says).join('; ')}`}>
          {spans.map(({ name, from, to, series }, n) => (
            <g key={name}>
              <rect class={css.idle} x={0} y={n * ROW} width={width} height={TALL} rx={6} />
              {from && (
                <rect
                  class={css[series]}
                  x={x(Date.parse(from))}
                  y={n * ROW}
                  width={Math.max(6, x(to ? Date.parse(to) : now) - x(Date.parse(from)))}
                  height={TALL}
                  rx={6}
                />
              )}
            </g>
          ))}
          {years.map(
            (year) =>
              (width > 480 || year % 2 === 0) && (
                <g key={year}>
                  <line class={css.rule} x1={x(Date.UTC(year, 0, 1))} x2={x(Date.UTC(year, 0, 1))} y1={0} y2={bottom} />
                  <text class={css.tick} x={x(Date.UTC(year, 0, 1))} y={bottom + 12}>
                    {year}
                  </text>
                </g>
              ),
          )}
        </svg>
      )}
    </div>
  )
}

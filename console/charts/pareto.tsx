import { useState } from 'preact/hooks'
import css from './charts.module.css'
import { sizeOf } from './scale.ts'
import { useWidth } from './width.ts'

export interface Part {
  key: string
  /** The page with what it sums. */
  href?: string | undefined
  /** What is read aloud and shown beneath: `1. Comercial del Norte: 23.10 %, juntos 23.10 %`. */
  says: string
  /** In percent, as the API says them. */
  share: string
  cumulative: string
}

const HEIGHT = 250
const LEFT = 44
const BOTTOM = 24
const TOP = 12
const TICKS = [0, 25, 50, 75, 100]

/** Parts of a whole, the largest first: a bar for each, and over them the curve of what they are together. */
export function Pareto({ label, parts }: { label: string; parts: readonly Part[] }) {
  const [ref, width] = useWidth()
  const [shown, show] = useState<Part | null>(null)
  const step = (width - LEFT) / Math.max(1, parts.length)
  const bar = Math.max(2, Math.min(34, step * 0.62))
  const y = (percent: number) => TOP + (HEIGHT - BOTTOM - TOP) * (1 - Math.min(100, percent) / 100)
  const x = (n: number) => LEFT + (n + 0.5) * step
  const points = parts.map(({ cumulative }, n) => `${x(n)} ${y(sizeOf(cumulative))}`)
  const curve = points.length > 0 ? `M${LEFT} ${y(0)}L${points.join('L')}` : ''
  const every = Math.ceil(28 / Math.max(1, step))
  return (
    <div ref={ref} class={css.chart}>
      {width > 0 && (
        <svg width={width} height={HEIGHT} role="group" aria-label={label} onPointerLeave={() => show(null)}>
          {TICKS.map((tick) => (
            <g key={tick} aria-hidden="true">
              <line class={css.rule} x1={LEFT} x2={width} y1={y(tick)} y2={y(tick)} />
              <text class={css.tick} x={LEFT - 8} y={y(tick) + 4} text-anchor="end">
                {tick} %
              </text>
            </g>
          ))}
          <path class={css.area} d={`${curve}V${y(0)}Z`} aria-hidden="true" />
          {parts.map((one, n) => {
            const top = y(sizeOf(one.share))
            const drawn = (
              <>
                <rect
                  class={`${css.band} ${shown === one ? css.on : ''}`}
                  x={LEFT + n * step}
                  y={0}
                  width={step}
                  height={HEIGHT - BOTTOM}
                  rx={6}
                />
                <rect
                  class={css.issued}
                  x={x(n) - bar / 2}
                  y={top}
                  width={bar}
                  height={Math.max(1, y(0) - top)}
                  rx={Math.min(3, bar / 3)}
                />
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
          <g aria-hidden="true" class={css.over}>
            <path class={css.curve} d={curve} />
            {parts.map(({ key, cumulative }, n) => (
              <circle key={key} class={css.dot} cx={x(n)} cy={y(sizeOf(cumulative))} r={step > 14 ? 3.5 : 1.5} />
            ))}
            {parts.map(
              ({ key }, n) =>
                n % every === 0 && (
                  <text key={key} class={css.tick} x={x(n)} y={HEIGHT - 6} text-anchor="middle">
                    {n + 1}
                  </text>
                ),
            )}
          </g>
        </svg>
      )}
      <p class={css.says} role="status">
        {shown?.says}
      </p>
    </div>
  )
}

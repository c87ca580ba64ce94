import css from './charts.module.css'
import { sizeOf } from './scale.ts'

interface Props {
  /** As the API says it. Null where it is not defined. */
  value: string | null
  most: number
  /** Up to which value each zone reaches, the least first. */
  zones: readonly { upTo: number; series: 'good' | 'wait' | 'bad' }[]
}

const WIDTH = 200

/** Where a value stands on a scale. It is a picture alone: the value and its limit stand beside it as text. */
export function Gauge({ value, most, zones }: Props) {
  const x = (of: number) => (Math.max(0, Math.min(most, of)) / most) * WIDTH
  return (
    <svg class={css.gauge} viewBox={`0 0 ${WIDTH} 14`} aria-hidden="true">
      {zones.map(({ upTo, series }, n) => {
        const from = n === 0 ? 0 : x(zones[n - 1]!.upTo)
        return (
          <rect
            key={series}
            class={`${css[series]} ${css.zone}`}
            x={from}
            y="5"
            width={Math.max(0, x(upTo) - from - 1)}
            height="5"
            rx="2.5"
          />
        )
      })}
      {value !== null && <rect class={css.needle} x={Math.min(WIDTH - 3, x(sizeOf(value)))} y="1" width="3" height="13" rx="1.5" />}
    </svg>
  )
}

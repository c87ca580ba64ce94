import type { SyncStatus } from '../api/routes.d.ts'
import css from './charts.module.css'
import { useWidth } from './width.ts'

const STATES = ['succeeded', 'running', 'waiting', 'failed', 'queued'] as const

/** How many downloads are in which state, as one bar. Its figures stand beside it. */
export function Progress({ jobs, label }: { jobs: SyncStatus['jobs']; label: string }) {
  const [ref, width] = useWidth()
  let x = 0
  return (
    <div ref={ref}>
      {width > 0 && (
        <svg width={width} height="8" role="img" aria-label={label}>
          <clipPath id="progress">
            <rect width={width} height="8" rx="4" />
          </clipPath>
          <g clip-path="url(#progress)">
            <rect class={css.queued} width={width} height="8" />
            {STATES.map((state) => {
              const own = (width * jobs[state]) / Math.max(1, jobs.total)
              x += own
              return <rect key={state} class={css[state]} x={x - own} width={own} height="8" />
            })}
          </g>
        </svg>
      )}
    </div>
  )
}

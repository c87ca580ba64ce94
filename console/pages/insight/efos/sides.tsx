import type { EfosExposure, EfosRow } from '../../../api/routes.d.ts'
import { Keys } from '../../../charts/bars.tsx'
import { sizeOf } from '../../../charts/scale.ts'
import { day, money, NOTHING } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Panel } from '../../../parts/page.tsx'
import { Drill } from '../figures/drill.tsx'
import css from './efos.module.css'
import { isUnknown } from './listed.ts'
import { Situation } from './situation.tsx'
import { words } from './words.ts'

const HALF = 100

/** Of each party what was invoiced before its first publication, at the left, and since then, at the right. */
export function Sides({ rows, of: { data_quality, direction } }: { rows: readonly EfosRow[]; of: EfosExposure }) {
  const t = useWords(words)
  const most = Math.max(1, ...rows.flatMap((row) => [sizeOf(row.before_listing_amount), sizeOf(row.after_listing_amount)]))
  const width = (amount: string) => (Math.max(0, sizeOf(amount)) / most) * HALF
  return (
    <Panel title={t.sides} lead={t.sidesLead}>
      <ul class={css.sides} aria-label={t.sides}>
        {rows.map((row) => {
          const { rfc, name, situacion, presunto_dof_at, before_listing_amount, after_listing_amount, is_active, drilldown } = row
          const sides = [
            ['before', before_listing_amount],
            ['after', after_listing_amount],
          ] as const
          const [before, after] = [width(before_listing_amount), width(after_listing_amount)]
          return (
            <li key={rfc}>
              <div>
                <b>{name ?? rfc}</b> <Situation is={situacion} />
                <br />
                <small>{presunto_dof_at ? t.since(day(presunto_dof_at)) : rfc}</small>
              </div>
              <div>
                <div class={css.amounts}>
                  {sides.map(([side, amount]) =>
                    isUnknown(side, amount, row, data_quality, direction) ? (
                      <span key={side}>
                        {NOTHING} <small>{t.missing}</small>
                      </span>
                    ) : (
                      <Drill
                        key={side}
                        to={drilldown[`${side}_listing_amount`]}
                        label={`${t[side]}, ${name ?? rfc}`}
                        text={money(amount)}
                      />
                    ),
                  )}
                </div>
                <svg viewBox={`0 0 ${2 * HALF} 10`} preserveAspectRatio="none" aria-hidden="true">
                  <rect class={css.before} x={HALF - before} width={before} y="1" height="8" />
                  <rect class={is_active ? css.after : css.cleared} x={HALF} width={after} y="1" height="8" />
                  <line x1={HALF} x2={HALF} y1="0" y2="10" />
                </svg>
              </div>
            </li>
          )
        })}
      </ul>
      <br />
      <Keys
        keys={[
          { series: 'wait', name: t.before },
          { series: 'bad', name: t.after },
          { series: 'idle', name: t.cleared },
        ]}
      />
    </Panel>
  )
}

import { useQuery } from '@tanstack/preact-query'
import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { coverageQuery } from '../../../api/coverage.ts'
import { isMoving, nameOf, type Standing, sayOf } from '../../../api/standings.ts'
import { Matrix, MatrixKeys } from '../../../charts/matrix.tsx'
import { Progress } from '../../../charts/progress.tsx'
import { count, instant } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Button, ButtonLink } from '../../../parts/button.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import { useZone } from '../../../session.ts'
import css from './rfcs.module.css'
import { remedyOf, StandingBadge } from './standing.tsx'
import { words } from './words.ts'

function Months({ fiscal_entity_id }: { fiscal_entity_id: string }) {
  const coverage = useQuery(coverageQuery(fiscal_entity_id))
  return (
    <div class={css.months}>
      <Loaded query={coverage} rows={1}>
        {(months) => (
          <>
            <Matrix months={months} />
            <MatrixKeys />
          </>
        )}
      </Loaded>
    </div>
  )
}

/** An RFC in the overview. Its months are one more request, so that they are asked for when somebody wants them. */
export function Card({ standing, isOpen }: { standing: Standing; isOpen: boolean }) {
  const t = useWords(words)
  const zone = useZone()
  const [shown, show] = useState<boolean | null>(null)
  const { fiscal_entity_id, rfc, jobs, percent, last_success_at } = standing
  const name = nameOf(standing)
  const remedy = remedyOf(standing)
  const hasMonths = standing.connection_status === 'active' && jobs.total > 0
  const showsMonths = hasMonths && (shown ?? isOpen)
  return (
    <li class={css.card} data-rfc={rfc}>
      <div class={css.name}>
        <h2>
          <Link href={`/rfcs/${fiscal_entity_id}`}>{rfc}</Link>
        </h2>
        {name && <p>{name}</p>}
      </div>
      <div class={css.standing}>
        <StandingBadge {...standing} />
        <p>{sayOf(standing, zone)}</p>
        {remedy && (
          <ButtonLink href={remedy.href} small needs={remedy.href.startsWith('/connect') ? 'admin' : undefined}>
            {t.do[remedy.what]}
          </ButtonLink>
        )}
      </div>
      {jobs.total > 0 && (
        <div class={css.progress}>
          <Progress jobs={jobs} label={`${rfc}: ${percent} %`} />
          <p>
            {isMoving(standing) && <b>{count(percent)} %</b>}
            <span>{t.done(count(jobs.succeeded), count(jobs.total))}</span>
            {jobs.waiting > 0 && <span>{t.waiting(count(jobs.waiting))}</span>}
            {jobs.failed > 0 && <span>{t.failed(count(jobs.failed))}</span>}
          </p>
          {last_success_at && !isMoving(standing) && <p>{t.last(instant(last_success_at, zone))}</p>}
          {hasMonths && (
            <Button kind="quiet" small aria-expanded={showsMonths} onClick={() => show(!showsMonths)}>
              {showsMonths ? t.hide : t.months}
            </Button>
          )}
        </div>
      )}
      {showsMonths && <Months fiscal_entity_id={fiscal_entity_id} />}
    </li>
  )
}

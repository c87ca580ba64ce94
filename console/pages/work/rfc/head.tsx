import { useQuery } from '@tanstack/preact-query'
import { answer, api } from '../../../api/client.ts'
import type { FiscalEntity } from '../../../api/routes.d.ts'
import { isMoving, sayOf, standingsQuery } from '../../../api/standings.ts'
import { Progress } from '../../../charts/progress.tsx'
import { count, day, instant, NOTHING } from '../../../format.ts'
import { language, useWords } from '../../../language.ts'
import { Badge } from '../../../parts/badge.tsx'
import { Facts, Panel } from '../../../parts/page.tsx'
import { useZone } from '../../../session.ts'
import { StandingBadge } from '../rfcs/standing.tsx'
import css from './rfc.module.css'
import { WARNINGS } from './told.ts'
import { words } from './words.ts'

function Repse({ fiscal_entity_id }: { fiscal_entity_id: string }) {
  const t = useWords(words)
  const { data } = useQuery({
    queryKey: ['repse', fiscal_entity_id],
    queryFn: () => answer(api.GET('/v1/fiscal-entities/{fiscal_entity_id}/repse', { params: { path: { fiscal_entity_id } } })),
  })
  if (!data) return <>{NOTHING}</>
  if (!('is_registered' in data)) return <>{t.repseUnknown}</>
  if (!data.is_registered) return <>{t.repseNo}</>
  const tone = data.is_expired ? 'bad' : 'good'
  const say = data.is_expired ? t.repseExpired : t.repseYes
  return (
    <>
      <Badge tone={tone}>{t.repseState[tone]}</Badge> {say(data.folio ?? NOTHING, day(data.vigencia_hasta))}
    </>
  )
}

/** How the RFC stands, and what it logs in with. */
export function Head({ entity }: { entity: FiscalEntity }) {
  const t = useWords(words)
  const zone = useZone()
  const { data } = useQuery(standingsQuery)
  const standing = data?.find((one) => one.fiscal_entity_id === entity.fiscal_entity_id)
  const { credential_kind: kind, efirma } = entity
  return (
    <Panel>
      {standing && (
        <div class={css.head} role="status">
          <StandingBadge {...standing} connection_status={entity.status} />
          <p>{sayOf(standing, zone)}</p>
          {standing.jobs.total > 0 && (
            <div class={css.progress}>
              <Progress jobs={standing.jobs} label={`${standing.percent} %`} />
              <small>
                {isMoving(standing) && `${count(standing.percent)} % · `}
                {t.progress(count(standing.jobs.succeeded), count(standing.jobs.total))}
              </small>
            </div>
          )}
        </div>
      )}
      {entity.warnings.length > 0 && (
        <ul class={css.warnings} aria-label={t.warnings}>
          {entity.warnings.map(({ code, message }) => (
            <li key={code}>{(language() === 'es' && WARNINGS[code]?.(entity)) || message}</li>
          ))}
        </ul>
      )}
      <Facts
        facts={[
          [t.access, kind ? t.logins[kind] : t.noLogin],
          ...(efirma ? [['e.firma', t.until(efirma.certificate_number, day(efirma.valid_to))] as const] : []),
          ...(standing ? [[t.last, instant(standing.last_success_at, zone)] as const] : []),
          ...(entity.status === 'active' ? [[t.repse, <Repse key="repse" fiscal_entity_id={entity.fiscal_entity_id} />] as const] : []),
        ]}
      />
    </Panel>
  )
}

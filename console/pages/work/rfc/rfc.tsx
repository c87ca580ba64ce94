import { useQuery } from '@tanstack/preact-query'
import { useEffect, useRef } from 'preact/hooks'
import { answer, api } from '../../../api/client.ts'
import { billingQuery } from '../../../api/queries.ts'
import { standingsQuery } from '../../../api/standings.ts'
import { useWords } from '../../../language.ts'
import { ButtonLink } from '../../../parts/button.tsx'
import { useRemembered } from '../../../parts/entity.tsx'
import { Call, Panel, Title } from '../../../parts/page.tsx'
import { Failed, Skeleton } from '../../../parts/states.tsx'
import { isUnreadable, Unreadable } from '../../../parts/unreadable.tsx'
import { Changes } from './changes.tsx'
import { Coverage } from './coverage.tsx'
import { Documents } from './documents.tsx'
import { Head } from './head.tsx'
import { Mailbox } from './mailbox.tsx'
import { Profile, profileQuery } from './profile.tsx'
import { Windows } from './windows.tsx'
import { words } from './words.ts'

/** Reads an RFC again when its downloads moved its windows, or it lost its login, while somebody looks. */
function useMoved(fiscal_entity_id: string, refetch: () => unknown): void {
  const { data } = useQuery(standingsQuery)
  const now = data?.find((one) => one.fiscal_entity_id === fiscal_entity_id)
  const stands = now && [now.connection_status, now.state, now.jobs.succeeded, now.downloaded_to].join()
  const before = useRef(stands)
  useEffect(() => {
    if (before.current !== undefined && before.current !== stands) void refetch()
    before.current = stands
  }, [stands])
}

export default function Rfc({ fiscal_entity_id = '' }: { fiscal_entity_id?: string }) {
  const t = useWords(words)
  const {
    data: entity,
    error,
    refetch,
    isFetchedAfterMount,
  } = useQuery({
    queryKey: ['fiscal-entity', fiscal_entity_id],
    // What was known before may be active still, and all that it has would be refused.
    staleTime: 0,
    queryFn: () => answer(api.GET('/v1/fiscal-entities/{fiscal_entity_id}', { params: { path: { fiscal_entity_id } } })),
  })
  useRemembered(entity?.fiscal_entity_id)
  useMoved(fiscal_entity_id, refetch)
  const { data: billing } = useQuery(billingQuery)
  const isActive = entity?.status === 'active'
  const { data: profile } = useQuery({ ...profileQuery(fiscal_entity_id), enabled: isActive && isFetchedAfterMount })
  if (error && !entity) return <Failed isPage error={error} retry={refetch} />
  if (!entity) return <Skeleton rows={6} />
  const isPausedForDebt = entity.status === 'paused' && billing?.state === 'suspended'
  const isReadable = entity.status === 'active' || isPausedForDebt
  return (
    <>
      <Title isThing text={entity.rfc} lead={[profile?.tax_status?.fields.name, entity.name].filter(Boolean).join(' · ')}>
        {isReadable && (
          <ButtonLink href={`/cfdi?fiscal_entity_id=${fiscal_entity_id}`} kind="primary">
            {t.cfdi}
          </ButtonLink>
        )}
        {!isUnreadable(entity) && (
          <ButtonLink href={`/connect?fiscal_entity_id=${fiscal_entity_id}`} needs="admin">
            {t.login}
          </ButtonLink>
        )}
        <Changes entity={entity} />
      </Title>
      <Head entity={entity} />
      {!isReadable && <Unreadable entity={entity} isRemedied={entity.status === 'paused'} />}
      <Windows entity={entity} isReadable={isReadable} />
      {isReadable && isFetchedAfterMount && (
        <>
          <Panel title={t.coverage} lead={t.coverageLead}>
            <Coverage fiscal_entity_id={fiscal_entity_id} />
          </Panel>
          <Mailbox fiscal_entity_id={fiscal_entity_id} />
          <Profile fiscal_entity_id={fiscal_entity_id} />
          <Documents fiscal_entity_id={fiscal_entity_id} />
        </>
      )}
      <Call call={`GET /v1/fiscal-entities/${fiscal_entity_id}`} />
    </>
  )
}

import { useQuery } from '@tanstack/preact-query'
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

export default function Rfc({ fiscal_entity_id = '' }: { fiscal_entity_id?: string }) {
  const t = useWords(words)
  const { data, error, refetch, isFetchedAfterMount, dataUpdatedAt } = useQuery({
    queryKey: ['fiscal-entity', fiscal_entity_id],
    // What was known before may be active still, and all that it has would be refused.
    staleTime: 0,
    queryFn: () => answer(api.GET('/v1/fiscal-entities/{fiscal_entity_id}', { params: { path: { fiscal_entity_id } } })),
  })
  useRemembered(data?.fiscal_entity_id)
  const { data: standings, dataUpdatedAt: standingsAt } = useQuery(standingsQuery)
  const { data: billing } = useQuery(billingQuery)
  const isActive = data?.status === 'active'
  const { data: profile } = useQuery({ ...profileQuery(fiscal_entity_id), enabled: isActive && isFetchedAfterMount })
  if (error && !data) return <Failed isPage error={error} retry={refetch} />
  if (!data) return <Skeleton rows={6} />
  // It can lose its login while somebody looks.
  const now = standings?.find(({ entity }) => entity.fiscal_entity_id === fiscal_entity_id)?.entity
  const entity = now && standingsAt > dataUpdatedAt ? now : data
  const isPausedForDebt = entity.status === 'paused' && billing?.state === 'suspended'
  const isReadable = entity.status === 'active' || isPausedForDebt
  return (
    <>
      <Title text={data.rfc} lead={[profile?.tax_status?.fields.name, data.name].filter(Boolean).join(' · ')}>
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

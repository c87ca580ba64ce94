import { useQuery } from '@tanstack/preact-query'
import { answer, api } from '../../../api/client.ts'
import { useWords } from '../../../language.ts'
import { ButtonLink } from '../../../parts/button.tsx'
import { useRemembered } from '../../../parts/entity.tsx'
import { Panel, Title } from '../../../parts/page.tsx'
import { Failed, Skeleton } from '../../../parts/states.tsx'
import { Changes } from './changes.tsx'
import { Coverage } from './coverage.tsx'
import { Documents } from './documents.tsx'
import { Head } from './head.tsx'
import { Mailbox } from './mailbox.tsx'
import { Profile } from './profile.tsx'
import { Windows } from './windows.tsx'
import { words } from './words.ts'

export default function Rfc({ fiscal_entity_id = '' }: { fiscal_entity_id?: string }) {
  const t = useWords(words)
  const { data, error, refetch } = useQuery({
    queryKey: ['fiscal-entity', fiscal_entity_id],
    queryFn: () => answer(api.GET('/v1/fiscal-entities/{fiscal_entity_id}', { params: { path: { fiscal_entity_id } } })),
  })
  useRemembered(data?.fiscal_entity_id)
  if (error && !data) return <Failed isPage error={error} retry={refetch} />
  if (!data) return <Skeleton rows={6} />
  const isReadable = data.status === 'active'
  return (
    <>
      <Title text={data.rfc} lead={data.name}>
        <ButtonLink href={`/cfdi?fiscal_entity_id=${fiscal_entity_id}`} kind="primary">
          {t.cfdi}
        </ButtonLink>
        <ButtonLink href={`/connect?fiscal_entity_id=${fiscal_entity_id}`} needs="admin">
          {t.login}
        </ButtonLink>
        <Changes entity={data} />
      </Title>
      <Head entity={data} />
      <Windows entity={data} />
      {isReadable && (
        <>
          <Panel title={t.coverage} lead={t.coverageLead}>
            <Coverage fiscal_entity_id={fiscal_entity_id} />
          </Panel>
          <Mailbox fiscal_entity_id={fiscal_entity_id} />
          <Profile fiscal_entity_id={fiscal_entity_id} />
          <Documents fiscal_entity_id={fiscal_entity_id} />
        </>
      )}
    </>
  )
}

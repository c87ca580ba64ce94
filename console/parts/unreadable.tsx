import { useQuery } from '@tanstack/preact-query'
import { LockKeyhole } from 'lucide-preact'
import type { JSX } from 'preact'
import { answer, api } from '../api/client.ts'
import type { FiscalEntity } from '../api/routes.d.ts'
import { useWords } from '../language.ts'
import { ButtonLink } from './button.tsx'
import { useEntity } from './entity.tsx'
import css from './states.module.css'
import { words } from './words.ts'

/** Whether every question about its documents is refused. One that is paused for a debt can be read. */
export const isUnreadable = ({ status }: FiscalEntity): boolean => status === 'draft' || status === 'invalid_ciec'

interface Props {
  entity: FiscalEntity
  isPage?: boolean
  /** What remedies it stands on the page already. */
  isRemedied?: boolean
}

/** Why nothing of an RFC can be read, and what to do about it. */
export function Unreadable({ entity, isPage = false, isRemedied = false }: Props) {
  const t = useWords(words)
  const { status, invalid_reason, fiscal_entity_id, rfc } = entity
  const why = status === 'invalid_ciec' ? t.invalid[invalid_reason ?? 'rejected'] : status === 'draft' ? t.draft : t.paused
  const [label, path] =
    status === 'paused'
      ? [t.resume, `/rfcs/${fiscal_entity_id}`]
      : [status === 'draft' ? t.addLogin : t.renewLogin, `/connect?fiscal_entity_id=${fiscal_entity_id}`]
  return (
    <div class={css.empty} role="alert">
      <LockKeyhole size={34} aria-hidden="true" />
      {isPage ? <h1>{rfc}</h1> : <h2>{rfc}</h2>}
      <p>{why}</p>
      {!isRemedied && (
        <ButtonLink href={path} kind="primary">
          {label}
        </ButtonLink>
      )}
    </div>
  )
}

/** The same, where a refusal was the first to say it. */
export function NotActive({ isPage, otherwise }: { isPage: boolean; otherwise: JSX.Element }) {
  const { entity } = useEntity()
  const named = /\bfe_\w+/.exec(location.href)?.[0] ?? entity?.fiscal_entity_id
  const { data } = useQuery({
    queryKey: ['fiscal-entity', named],
    enabled: named !== undefined,
    staleTime: 0,
    queryFn: () =>
      answer(
        api.GET('/v1/fiscal-entities/{fiscal_entity_id}', { params: { path: { fiscal_entity_id: named! } } }),
      ) as Promise<FiscalEntity>,
  })
  return data && data.status !== 'active' ? <Unreadable entity={data} isPage={isPage} /> : otherwise
}

import { useQuery } from '@tanstack/preact-query'
import { useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { answer, api } from '../../../api/client.ts'
import { FRESH_MS, LIVE_MS, useSend } from '../../../api/queries.ts'
import type { StorageConnectorTest } from '../../../api/routes.d.ts'
import { count } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Badge } from '../../../parts/badge.tsx'
import { Button } from '../../../parts/button.tsx'
import { Call, Panel, Title } from '../../../parts/page.tsx'
import { Failed, Problem, Skeleton } from '../../../parts/states.tsx'
import { Ask } from '../parts/ask.tsx'
import css from '../parts/automation.module.css'
import { Change } from './change.tsx'
import { RefusedDocuments } from './refused.tsx'
import { State } from './state.tsx'
import { words } from './words.ts'

function Tested({ test: { ok, steps, error } }: { test: StorageConnectorTest }) {
  const t = useWords(words)
  return (
    <Panel>
      <div class={css.stack} role="status">
        <div class={css.row}>
          {steps.map((one) => (
            <span key={one.step} class={css.row}>
              <Badge tone={one.ok ? 'good' : 'bad'}>{t.steps[one.step]}</Badge>
              <small>{t.ms(count(one.ms))}</small>
            </span>
          ))}
        </div>
        <p>{ok ? t.testGood : (t.errors[error?.code ?? ''] ?? error?.message)}</p>
        {error && <code class={css.wrap}>{error.message}</code>}
      </div>
    </Panel>
  )
}

const CHANGED = ['storage', 'connector']

export default function OneConnector({ connector_id = '' }: { connector_id?: string }) {
  const t = useWords(words)
  const [, go] = useLocation()
  const [asked, ask] = useState<'change' | 'remove' | null>(null)
  const close = () => ask(null)
  const params = { path: { connector_id } }
  const { data, error, refetch } = useQuery({
    queryKey: ['connector', connector_id],
    queryFn: () => answer(api.GET('/v1/storage-connectors/{connector_id}', { params })),
    refetchInterval: ({ state }) => (/queued|running/.test(state.data?.backfill?.status ?? '') ? LIVE_MS : FRESH_MS),
  })
  const testing = useSend((_: undefined, headers) => answer(api.POST('/v1/storage-connectors/{connector_id}/test', { params, headers })))
  const filling = useSend(
    (_: undefined, headers) => answer(api.POST('/v1/storage-connectors/{connector_id}/backfill', { params, headers })),
    CHANGED,
  )
  const setting = useSend(
    (connector_status: 'active' | 'paused') =>
      answer(api.PATCH('/v1/storage-connectors/{connector_id}', { params, body: { connector_status } })),
    CHANGED,
  )
  const removing = useSend(
    async (_: undefined) => {
      await answer(api.DELETE('/v1/storage-connectors/{connector_id}', { params }))
    },
    ['storage', 'billing'],
  )
  if (error && !data) return <Failed isPage error={error} retry={refetch} />
  if (!data) return <Skeleton rows={5} />
  const isActive = data.connector_status === 'active'
  const refused = testing.error ?? filling.error ?? setting.error
  return (
    <>
      <Title isThing text={data.name} lead={t.providers[data.provider]}>
        <Button kind="primary" needs="admin" isBusy={testing.isPending} onClick={() => testing.mutate(undefined)}>
          {t.test}
        </Button>
        <Button needs="admin" isBusy={filling.isPending} onClick={() => filling.mutate(undefined)}>
          {t.backfill}
        </Button>
        <Button needs="admin" isBusy={setting.isPending} onClick={() => setting.mutate(isActive ? 'paused' : 'active')}>
          {isActive ? t.pause : t.resume}
        </Button>
        <Button needs="admin" onClick={() => ask('change')}>
          {t.change}
        </Button>
        <Button kind="danger" needs="admin" onClick={() => ask('remove')}>
          {t.remove}
        </Button>
      </Title>
      {refused && (
        <Panel>
          <Problem error={refused} />
        </Panel>
      )}
      {testing.data && !testing.error && <Tested test={testing.data} />}
      <State connector={data} />
      <RefusedDocuments connector_id={connector_id} />
      <Call call={`GET /v1/storage-connectors/${connector_id}`} />
      {asked === 'change' && <Change connector={data} close={close} />}
      {asked === 'remove' && (
        <Ask
          title={t.removeTitle(data.name)}
          lead={t.removeLead}
          label={t.remove}
          send={removing}
          done={() => go('/storage')}
          close={close}
        />
      )}
    </>
  )
}

import { Play } from 'lucide-preact'
import { useState } from 'preact/hooks'
import { Link, useLocation } from 'wouter-preact'
import { answer, api } from '../../../api/client.ts'
import { useSend } from '../../../api/queries.ts'
import type { Extractor } from '../../../api/routes.d.ts'
import { count } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Button } from '../../../parts/button.tsx'
import { Panel, Title } from '../../../parts/page.tsx'
import { Problem } from '../../../parts/states.tsx'
import { useSay } from '../extractors/say.ts'
import { Ask } from '../parts/ask.tsx'
import css from '../parts/automation.module.css'
import { words } from './words.ts'

/** The head of an extractor: runs it now, pauses it, deletes it. */
export function Head({ extractor }: { extractor: Extractor }) {
  const t = useWords(words)
  const [, go] = useLocation()
  const { whenOf, scopeOf } = useSay()
  const [isAsking, ask] = useState(false)
  const { name, is_enabled, extractor_id } = extractor
  const params = { path: { extractor_id } }
  const running = useSend(
    (_: undefined, headers) => answer(api.POST('/v1/extractors/{extractor_id}/run', { params, headers })),
    ['extractors', 'extractor-runs', 'standings'],
  )
  const setting = useSend(
    (enabled: boolean) => answer(api.PATCH('/v1/extractors/{extractor_id}', { params, body: { is_enabled: enabled } })),
    ['extractors', 'extractor-preview'],
  )
  const removing = useSend(
    async (_: undefined) => {
      await answer(api.DELETE('/v1/extractors/{extractor_id}', { params }))
    },
    ['billing'],
  )
  const { data: ran } = running
  return (
    <>
      <Title isThing text={name} lead={`${whenOf(extractor)} · ${scopeOf(extractor)}`}>
        <Button kind="primary" needs="admin" disabled={!is_enabled} isBusy={running.isPending} onClick={() => running.mutate(undefined)}>
          <Play size={16} aria-hidden="true" />
          {t.run}
        </Button>
        <Button needs="admin" isBusy={setting.isPending} onClick={() => setting.mutate(!is_enabled)}>
          {is_enabled ? t.pause : t.resume}
        </Button>
        <Button kind="danger" needs="admin" onClick={() => ask(true)}>
          {t.remove}
        </Button>
      </Title>
      {(running.error || setting.error || ran) && (
        <Panel>
          <Problem error={running.error ?? setting.error} />
          {ran && !running.error && (
            <p role="status" class={css.row}>
              {ran.run_id === null ? t.ranNothing : t.ran(count(ran.connections), count(ran.dispatched))}
              {ran.run_id && <Link href={`/runs/${ran.run_id}`}>{t.follow}</Link>}
            </p>
          )}
        </Panel>
      )}
      {isAsking && (
        <Ask
          title={t.removeTitle(name)}
          lead={t.removeLead}
          label={t.remove}
          send={removing}
          done={() => go('/extractors')}
          close={() => ask(false)}
        />
      )}
    </>
  )
}

import { keepPreviousData, useQuery } from '@tanstack/preact-query'
import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { answer, api } from '../../../api/client.ts'
import { useSend } from '../../../api/queries.ts'
import type { Extractor, ExtractorDraft, Run } from '../../../api/routes.d.ts'
import { useWords } from '../../../language.ts'
import { Badge } from '../../../parts/badge.tsx'
import { Button, ButtonLink } from '../../../parts/button.tsx'
import { Actions, Form } from '../../../parts/field.tsx'
import { Panel } from '../../../parts/page.tsx'
import { Problem } from '../../../parts/states.tsx'
import { useMayWrite, useZone } from '../../../session.ts'
import css from '../parts/automation.module.css'
import { words as shared } from '../parts/words.ts'
import { Calendar } from './calendar.tsx'
import { bodyOf, type Draft, draftOf, FRESH } from './draft.ts'
import { Fields } from './fields.tsx'
import { Preview } from './preview.tsx'
import { words } from './words.ts'

const TYPING_MS = 350

/** A value, once it has not changed for a moment. */
function useSettled<T>(value: T): T {
  const [settled, set] = useState(value)
  const said = JSON.stringify(value)
  useEffect(() => {
    const timer = setTimeout(() => set(JSON.parse(said)), TYPING_MS)
    return () => clearTimeout(timer)
  }, [said])
  return settled
}

interface Props {
  stored?: Extractor
  /** What a new one begins with. */
  chosen?: Partial<Draft> | undefined
  runs?: readonly Run[]
}

/** An extractor, stored or new, with what saving it would fetch and the days on which it would run. */
export function Editor({ stored, chosen, runs = [] }: Props) {
  const t = useWords(words)
  const { cancel } = useWords(shared)
  const zone = useZone()
  const mayWrite = useMayWrite()
  const [, go] = useLocation()
  const [draft, set] = useState(() => (stored ? draftOf(stored) : { ...FRESH, timezone: zone, ...chosen }))
  const body = bodyOf(draft)
  // The figures are there before the name is.
  const asked = useSettled({ ...body, name: body.name.trim() || t.create, ...(stored && { is_enabled: stored.is_enabled }) })
  const preview = useQuery({
    queryKey: ['extractor-preview', stored?.extractor_id, asked],
    queryFn: () => {
      const { extractor_id } = stored ?? {}
      return answer(api.POST('/v1/extractors/preview', { body: { ...asked, ...(extractor_id && { extractor_id }) } }))
    },
    enabled: mayWrite,
    placeholderData: keepPreviousData,
  })
  const saving = useSend(
    (input: ExtractorDraft, headers) =>
      stored
        ? answer(api.PATCH('/v1/extractors/{extractor_id}', { params: { path: { extractor_id: stored.extractor_id } }, body: input }))
        : answer(api.POST('/v1/extractors', { body: input, headers })),
    ['extractors', 'extractor-preview', 'billing'],
  )
  const save = () => saving.mutate(body, { onSuccess: ({ extractor_id }) => stored || go(`/extractors/${extractor_id}`) })
  const next = mayWrite ? preview.data?.next_runs : stored?.next_run_at ? [stored.next_run_at] : []
  return (
    <>
      <div class={css.split}>
        <Panel title={t.settings}>
          <Form onSubmit={save}>
            <fieldset class={css.stack} disabled={!mayWrite}>
              <Fields draft={draft} set={(changed) => set((old) => ({ ...old, ...changed }))} error={preview.error ?? saving.error} />
            </fieldset>
            <Problem error={saving.error} />
            <Actions>
              <Button type="submit" kind="primary" needs="admin" isBusy={saving.isPending}>
                {stored ? t.save : t.saveNew}
              </Button>
              {!stored && <ButtonLink href="/extractors">{cancel}</ButtonLink>}
              <span role="status">{saving.isSuccess && stored && <Badge tone="good">{t.saved}</Badge>}</span>
            </Actions>
          </Form>
        </Panel>
        <Preview preview={preview} mayAsk={mayWrite} />
      </div>
      <Calendar zone={draft.timezone} runs={runs} next={next ?? []} />
    </>
  )
}

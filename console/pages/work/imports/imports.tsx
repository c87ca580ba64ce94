import { useInfiniteQuery, useQuery } from '@tanstack/preact-query'
import { useState } from 'preact/hooks'
import { answer, api } from '../../../api/client.ts'
import { FRESH_MS, LIVE_MS, useSend } from '../../../api/queries.ts'
import type { ImportSummary } from '../../../api/routes.d.ts'
import { bytes, count, instant } from '../../../format.ts'
import { language, useWords } from '../../../language.ts'
import { Badge, type Tone } from '../../../parts/badge.tsx'
import { Button } from '../../../parts/button.tsx'
import { Dialog } from '../../../parts/dialog.tsx'
import { EntityPicker, useEntity } from '../../../parts/entity.tsx'
import { Actions, FileField, Form } from '../../../parts/field.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import { More } from '../../../parts/more.tsx'
import { Call, Figures, Panel, Title } from '../../../parts/page.tsx'
import { Empty, Failed, Problem, Skeleton } from '../../../parts/states.tsx'
import { Table } from '../../../parts/table.tsx'
import { useMayWrite, useZone } from '../../../session.ts'
import { whyOf, words } from './words.ts'

const PATH = '/v1/fiscal-entities/{fiscal_entity_id}/cfdi/imports'
const TONES: Record<ImportSummary['status'], Tone> = { queued: 'wait', running: 'going', completed: 'good', deleting: 'idle' }
const OUTCOMES = ['created', 'updated', 'unchanged', 'rejected'] as const
/** What an import changes: everything that is made of documents. */
const CHANGED = ['imports', 'cfdi', 'billing']

interface One {
  fiscal_entity_id: string
  import_id: string
  close: () => void
}

function Result({ fiscal_entity_id, import_id, close }: One) {
  const t = useWords(words)
  const path = { fiscal_entity_id, import_id }
  const query = useQuery({
    queryKey: ['imports', fiscal_entity_id, import_id],
    queryFn: () => answer(api.GET(`${PATH}/{import_id}`, { params: { path } })),
  })
  return (
    <Dialog title={t.result} close={close}>
      <Loaded query={query} rows={3}>
        {({ counts, files, files_total }) => (
          <>
            <Figures figures={OUTCOMES.map((name) => ({ name: t.counts[name], value: count(counts[name]) }))} />
            <Table<(typeof files)[number]>
              label={t.rejected}
              rows={files.filter(({ status }) => status === 'rejected')}
              keyOf={(one) => JSON.stringify(one)}
              columns={[
                { name: t.name, cell: ({ name }) => name },
                { name: t.why, cell: ({ code, detail }) => (language() === 'es' && code && whyOf(code)) || detail || code },
              ]}
            />
            {files.length < files_total && counts.rejected > 0 && <p>{t.firstFiles(count(files.length))}</p>}
          </>
        )}
      </Loaded>
      <Actions>
        <Button onClick={close}>{t.close}</Button>
      </Actions>
    </Dialog>
  )
}

function Undo({ fiscal_entity_id, import_id, close }: One) {
  const t = useWords(words)
  const path = { fiscal_entity_id, import_id }
  const undo = useSend((_: null) => answer(api.DELETE(`${PATH}/{import_id}`, { params: { path } })), CHANGED)
  return (
    <Dialog title={t.undoTitle} close={close}>
      <p>{t.undoLead}</p>
      <Problem error={undo.error} />
      <Actions>
        <Button onClick={close}>{t.cancel}</Button>
        <Button kind="danger" isBusy={undo.isPending} onClick={() => undo.mutate(null, { onSuccess: close })}>
          {t.undo}
        </Button>
      </Actions>
    </Dialog>
  )
}

const typeOf = ({ name }: File) =>
  /\.zip$/i.test(name) ? 'application/zip' : /\.xml$/i.test(name) ? 'application/xml' : 'application/octet-stream'

function Upload({ fiscal_entity_id }: { fiscal_entity_id: string }) {
  const t = useWords(words)
  const [sent, next] = useState(0)
  const [file, choose] = useState<File | null>(null)
  // The name tells one file from another, which a File in JSON does not.
  const send = useSend(
    ({ file }: { file: File; name: string; size: number; at: number }, headers) =>
      answer(
        api.POST(PATH, {
          params: { path: { fiscal_entity_id } },
          body: file as unknown as string,
          bodySerializer: (body) => body as unknown as BodyInit,
          headers: { ...headers, 'Content-Type': typeOf(file) },
        }),
      ),
    CHANGED,
  )
  const submit = () => {
    if (!file) return
    const { name, size, lastModified: at } = file
    send.mutate({ file, name, size, at }, { onSuccess: () => next(sent + 1) })
  }
  return (
    <Panel>
      <Form key={sent} onSubmit={submit}>
        <FileField label={t.file} name="file" accept=".xml,.txt,.zip" required onFile={choose} />
        <Problem error={send.error} />
        <Actions>
          <Button kind="primary" type="submit" isBusy={send.isPending}>
            {t.send}
          </Button>
        </Actions>
      </Form>
    </Panel>
  )
}

function List({ fiscal_entity_id }: { fiscal_entity_id: string }) {
  const t = useWords(words)
  const zone = useZone()
  const [seen, see] = useState<string | null>(null)
  const [undone, undo] = useState<string | null>(null)
  const list = useInfiniteQuery({
    queryKey: ['imports', fiscal_entity_id],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) =>
      answer(api.GET(PATH, { params: { path: { fiscal_entity_id }, query: { limit: 25, ...(cursor && { cursor }) } } })),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    refetchInterval: ({ state }) =>
      state.data?.pages.some(({ data }) => data.some(({ status }) => status !== 'completed')) ? LIVE_MS : FRESH_MS,
  })
  return (
    <>
      <Loaded query={list} rows={4}>
        {({ pages }) => {
          const rows = pages.flatMap(({ data }) => data)
          if (rows.length === 0) return <Empty title={t.none} lead={t.noneLead} />
          return (
            <Panel flush>
              <Table<ImportSummary>
                label={t.title}
                rows={rows}
                keyOf={({ import_id }) => import_id}
                list={list}
                columns={[
                  { name: t.created, cell: ({ created_at }) => instant(created_at, zone) },
                  { name: t.status, cell: ({ status }) => <Badge tone={TONES[status]}>{t.state[status]}</Badge> },
                  { name: t.documents, end: true, cell: ({ documents }) => count(documents) },
                  { name: t.stored, end: true, cell: ({ stored_bytes }) => bytes(stored_bytes) },
                  {
                    name: t.actions,
                    end: true,
                    cell: ({ import_id, status, created_at }) => (
                      <Actions>
                        <Button small kind="quiet" aria-label={`${t.see}: ${instant(created_at, zone)}`} onClick={() => see(import_id)}>
                          {t.see}
                        </Button>
                        {status !== 'deleting' && (
                          <Button
                            small
                            kind="quiet"
                            needs="admin"
                            aria-label={`${t.undo}: ${instant(created_at, zone)}`}
                            onClick={() => undo(import_id)}
                          >
                            {t.undo}
                          </Button>
                        )}
                      </Actions>
                    ),
                  },
                ]}
              />
            </Panel>
          )
        }}
      </Loaded>
      <More list={list} />
      <Call call={`GET ${PATH.replace('{fiscal_entity_id}', fiscal_entity_id)}`} />
      {seen && <Result {...{ fiscal_entity_id }} import_id={seen} close={() => see(null)} />}
      {undone && <Undo {...{ fiscal_entity_id }} import_id={undone} close={() => undo(null)} />}
    </>
  )
}

export default function Imports() {
  const t = useWords(words)
  const mayWrite = useMayWrite()
  const { entity, entities, error, refetch, choose } = useEntity()
  if (error && !entities) return <Failed isPage error={error} retry={refetch} />
  if (!entities) return <Skeleton rows={6} />
  if (entities.length === 0)
    return <Empty isPage title={t.connectTitle} lead={t.connectLead} action={{ label: t.connect, href: '/connect' }} />
  return (
    <>
      <Title of={entity?.rfc} text={t.title} lead={t.lead}>
        <EntityPicker entities={entities} entity={entity} choose={choose} />
      </Title>
      {entity ? (
        <>
          {mayWrite && <Upload key={entity.fiscal_entity_id} fiscal_entity_id={entity.fiscal_entity_id} />}
          <List fiscal_entity_id={entity.fiscal_entity_id} />
        </>
      ) : (
        <Empty title={t.unknownRfc} />
      )}
    </>
  )
}

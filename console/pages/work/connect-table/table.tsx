import { useQuery, useQueryClient } from '@tanstack/preact-query'
import { Download } from 'lucide-preact'
import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { answer, api, Refused } from '../../../api/client.ts'
import { sentenceOf } from '../../../api/problems.ts'
import { entitiesQuery } from '../../../api/queries.ts'
import type { BatchResult } from '../../../api/routes.d.ts'
import { loadSentences } from '../../../api/sentences.ts'
import { count } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Badge, type Tone } from '../../../parts/badge.tsx'
import { Button, ButtonLink } from '../../../parts/button.tsx'
import { FileField } from '../../../parts/field.tsx'
import { Call, Panel, Title } from '../../../parts/page.tsx'
import { readTable } from '../../../parts/read-table.ts'
import { save, textFile } from '../../../parts/save.ts'
import { Problem } from '../../../parts/states.tsx'
import { Table } from '../../../parts/table.tsx'
import { Seats } from '../../../room/room.tsx'
import { useSession } from '../../../session.ts'
import css from '../connect/connect.module.css'
import { CHANGES } from '../connect/connect.tsx'
import { words as connect } from '../connect/words.ts'
import { type Draft, draftsOf } from './drafts.ts'
import { words } from './words.ts'

/** So few at a time that somebody sees it go on: each login is verified. */
const AT_ONCE = 10
const TONES: Record<BatchResult['result'], Tone> = { connected: 'good', already_connected: 'idle', refused: 'bad', not_attempted: 'wait' }

type Results = ReadonlyMap<string, BatchResult>

const connectSome = (some: readonly Draft[]) =>
  answer(
    api.POST('/v1/fiscal-entities/batch', {
      body: { fiscal_entities: some.map(({ rfc, ciec, name }) => ({ rfc, ciec, ...(name && { name }) })) },
      headers: { 'Idempotency-Key': crypto.randomUUID() },
    }),
  )

/** Why an RFC was refused, in the language that is spoken. */
const whyOf = ({ refusal }: BatchResult): string | null =>
  refusal && sentenceOf(new Refused(refusal.status, { ...refusal, request_id: '' }))

function Rows({ drafts, results }: { drafts: readonly Draft[]; results: Results }) {
  const t = useWords(words)
  return (
    <Table<Draft>
      label={t.rows}
      isSummed={false}
      rows={drafts}
      keyOf={({ row }) => String(row)}
      columns={[
        { name: t.row, by: ({ row }) => row, cell: ({ row }) => count(row) },
        { name: t.rfc, by: ({ rfc }) => rfc, cell: ({ rfc }) => <b>{rfc}</b> },
        { name: t.name, by: ({ name }) => name, cell: ({ name }) => name },
        { name: t.ciec, cell: ({ ciec }) => (ciec ? '••••••••' : '') },
        {
          name: t.result,
          by: ({ rfc, fault }) => (fault ? t.faults[fault] : (results.get(rfc)?.result ?? '')),
          cell: ({ rfc, fault, isOdd }) => {
            const result = fault === null ? results.get(rfc) : undefined
            if (fault) return <Badge tone={fault === 'known' ? 'idle' : 'bad'}>{t.faults[fault]}</Badge>
            if (!result) return isOdd ? <Badge tone="wait">{t.odd}</Badge> : <Badge tone="idle">{t.ready}</Badge>
            return (
              <span>
                <Badge tone={TONES[result.result]}>{t.results[result.result]}</Badge> {whyOf(result)}{' '}
                {result.fiscal_entity && <Link href={`/rfcs/${result.fiscal_entity.fiscal_entity_id}`}>{t.see}</Link>}
              </span>
            )
          },
        },
      ]}
    />
  )
}

/** Connects the RFCs of a table. It is checked before anything is sent, and each row has its result. */
export default function ConnectTable() {
  const t = useWords(words)
  const { invented } = useWords(connect)
  const { tax_authority } = useSession()
  const client = useQueryClient()
  const { data: entities = [] } = useQuery(entitiesQuery)
  const [drafts, show] = useState<readonly Draft[]>([])
  const [results, tell] = useState<Results>(new Map())
  const [isUnreadable, say] = useState(false)
  const [isBusy, work] = useState(false)
  const [error, fail] = useState<Error | null>(null)
  const take = async (file: File | null) => {
    const rows = file && (await readTable(file))
    const read = rows && draftsOf(rows, new Set(entities.map(({ rfc }) => rfc)))
    say(file !== null && !read?.length)
    show(read ?? [])
    tell(new Map())
    fail(null)
  }
  const open = drafts.filter(
    ({ rfc, fault }) => fault === null && !['connected', 'already_connected'].includes(results.get(rfc)?.result ?? ''),
  )
  const send = async () => {
    work(true)
    fail(null)
    const known = new Map(results)
    try {
      await loadSentences()
      for (let left = [...open]; left.length > 0; ) {
        const { data, counts } = await connectSome(left.splice(0, AT_ONCE))
        for (const one of data) if (one.rfc) known.set(one.rfc, one)
        tell(new Map(known))
        // What the service had no time for is sent again, unless it had none at all.
        if (counts.not_attempted < data.length)
          left.push(...open.filter(({ rfc }) => data.some((one) => one.rfc === rfc && one.result === 'not_attempted')))
      }
    } catch (reason) {
      fail(reason as Error)
    }
    work(false)
    for (const name of CHANGES) void client.invalidateQueries({ queryKey: [name] })
  }
  const wrong = drafts.filter(({ fault }) => fault !== null && fault !== 'known').length
  return (
    <>
      <Title text={t.title} lead={t.lead}>
        <Button onClick={() => save('rfc.csv', textFile('RFC,CIEC,Nombre\r\n'))}>
          <Download size={16} aria-hidden="true" />
          {t.template}
        </Button>
        <ButtonLink href="/connect">{t.one}</ButtonLink>
      </Title>
      <div class={css.narrow}>
        <Seats />
        <Panel>
          {tax_authority === 'sandbox' && <p>{invented}</p>}
          <FileField
            label={t.file}
            hint={t.fileHint}
            name="table"
            accept=".xlsx,.csv,.txt"
            onFile={(file) => void take(file)}
            fault={isUnreadable ? t.unreadable : undefined}
          />
        </Panel>
      </div>
      {drafts.length > 0 && (
        <Panel
          flush
          title={t.rows}
          lead={t.checked(count(drafts.length), count(wrong))}
          actions={
            <Button kind="primary" needs="admin" disabled={open.length === 0} isBusy={isBusy} onClick={() => void send()}>
              {t.connect(count(open.length))}
            </Button>
          }
        >
          <Problem error={error} />
          {isBusy && <p role="status">{t.verifying}</p>}
          <Rows drafts={drafts} results={results} />
        </Panel>
      )}
      <Call call="POST /v1/fiscal-entities/batch" />
    </>
  )
}

import { FileSpreadsheet, Printer } from 'lucide-preact'
import { useEffect, useState } from 'preact/hooks'
import type { InsightEntry } from '../../../api/routes.d.ts'
import { useWords } from '../../../language.ts'
import { Button } from '../../../parts/button.tsx'
import { Panel } from '../../../parts/page.tsx'
import { save } from '../../../parts/save.ts'
import { Problem } from '../../../parts/states.tsx'
import { loadDocuments } from '../figures/documents.ts'
import { Rows } from '../figures/entries.tsx'
import { type Own, readAll } from '../figures/read.ts'
import { words } from './words.ts'

interface Props {
  /** Of the file. */
  name: string
  path: string
  own: Own
  /** The lines that documents add up to, with what each one is called. */
  lines: readonly { figure: string; name: string }[]
  /** What the table of the lines is called. */
  label: string
}

type Part = Props['lines'][number] & { entries: readonly InsightEntry[] }

const tableOf = (label: string) => document.querySelectorAll<HTMLTableElement>(`[aria-label=${CSS.escape(label)}] > table`)

/** The documents of every line, beneath the lines: printed and saved together with them. */
export function Annex({ name, path, own, lines, label }: Props) {
  const t = useWords(words)
  const [parts, show] = useState<readonly Part[] | null>(null)
  const [wanted, want] = useState<'print' | 'Excel' | null>(null)
  const [error, fail] = useState<Error | null>(null)
  const labelOf = (part: Part) => t.documentsOf(part.name)

  async function load(): Promise<void> {
    const read: Part[] = []
    for (const line of lines) {
      const entries = await readAll<InsightEntry>(`${path}/entries`, { ...own, figure: line.figure })
      await loadDocuments(
        own['fiscal_entity_id']!,
        entries.flatMap(({ uuid, applies_to }) => (applies_to ? [uuid, applies_to] : [uuid])),
      )
      if (entries.length > 0) read.push({ ...line, entries })
    }
    show(read)
  }

  async function give(): Promise<void> {
    // What was read is drawn before the next frame.
    await new Promise(requestAnimationFrame)
    if (wanted === 'print') return print()
    const { readTables, workbookOf } = await import('../../../parts/sheet.ts')
    const sheets = [label, ...parts!.map(labelOf)].map((one) => ({ name: one, isSummed: one !== label, table: readTables(tableOf(one)) }))
    save(`${name}.xlsx`, await workbookOf(t.total, sheets))
  }

  useEffect(() => {
    if (wanted === null) return
    const done = parts === null ? load() : give().then(() => want(null))
    done.catch((reason: Error) => {
      fail(reason)
      want(null)
    })
  }, [wanted, parts])

  const ask = (one: 'print' | 'Excel') => {
    fail(null)
    want(one)
  }
  return (
    <>
      <Panel
        title={t.annex}
        lead={t.annexLead}
        actions={
          <>
            <Button isBusy={wanted === 'print'} onClick={() => ask('print')}>
              <Printer size={16} aria-hidden="true" />
              {t.print}
            </Button>
            <Button isBusy={wanted === 'Excel'} onClick={() => ask('Excel')}>
              <FileSpreadsheet size={16} aria-hidden="true" />
              {t.excel}
            </Button>
          </>
        }
      >
        <Problem error={error} />
        {parts?.length === 0 && <p>{t.noDocuments}</p>}
      </Panel>
      {parts?.map((part) => (
        <Panel key={part.figure} flush title={labelOf(part)}>
          <Rows label={labelOf(part)} own={{ ...own, figure: part.figure }} rows={part.entries} />
        </Panel>
      ))}
    </>
  )
}

import { useContext, useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { answer, api } from '../../../api/client.ts'
import { useSend } from '../../../api/queries.ts'
import type { CfdiFilters, ExportContent, ExportFormat, ExportHeadings, ExportKind, FiscalEntity } from '../../../api/routes.d.ts'
import { count } from '../../../format.ts'
import { LanguageContext, useWords } from '../../../language.ts'
import { Button } from '../../../parts/button.tsx'
import { Dialog } from '../../../parts/dialog.tsx'
import { Actions, Form, Select } from '../../../parts/field.tsx'
import { Problem } from '../../../parts/states.tsx'
import { Room } from '../../../room/room.tsx'
import { type Filters, useFilterText } from './filters.tsx'
import { useCfdiList } from './list.ts'
import { words } from './words.ts'

const FORMATS: readonly ExportFormat[] = ['xlsx', 'csv', 'ndjson']
const KINDS: readonly ExportKind[] = ['cfdi', 'conceptos', 'pagos', 'nominas', 'complementos', 'xml']

interface Props {
  entity: FiscalEntity
  filters: Filters
  /** What the list behind asks for: the filters, and the order. */
  asked: Record<string, string>
  close: () => void
}

/** Begins an export with the filters of the page. */
export function Exporting({ entity, filters, asked, close }: Props) {
  const t = useWords(words)
  const { fiscal_entity_id, rfc, name } = entity
  const headings: ExportHeadings = useContext(LanguageContext) === 'es' ? 'es' : 'api'
  const textOf = useFilterText()
  const [, go] = useLocation()
  const [kind, choose] = useState<ExportKind>('cfdi')
  const isZip = kind === 'xml'
  const send = useSend(
    (body: { kind: ExportKind; format: ExportFormat; headings: ExportHeadings; content?: ExportContent[] }, headers) =>
      // The texts of the address are those that the API takes, for true and false as well.
      answer(api.POST('/v1/exports', { body: { fiscal_entity_id, filters: filters as CfdiFilters, ...body }, headers })),
    ['exports', 'billing'],
  )
  // The list behind may have all of them already; nothing counts more of them than it has read.
  const pages = useCfdiList(fiscal_entity_id, asked).data?.pages
  const found = pages && t.found(count(pages.flatMap(({ data }) => data).length), pages.at(-1)!.has_more)
  const named = Object.entries(filters).map(([name, value]) => textOf(name, value))
  return (
    <Dialog title={t.exports} close={close}>
      <Room of="exports" />
      <Form
        onSubmit={(form) => {
          if (isZip) {
            const content = String(form.get('files')).split(' ') as ExportContent[]
            send.mutate({ kind, format: 'zip', headings: 'api', content }, { onSuccess: () => go('/exports') })
            return
          }
          const format = String(form.get('format')) as ExportFormat
          const isTable = format === 'xlsx' || format === 'csv'
          send.mutate({ kind, format, headings: isTable ? headings : 'api' }, { onSuccess: () => go('/exports') })
        }}
      >
        <p>
          <b>{name ? `${rfc} · ${name}` : rfc}</b>
        </p>
        <p>{named.length > 0 ? t.exportLead : t.exportAll}</p>
        {named.length > 0 && <p>{named.map(({ label, value }) => `${label}: ${value}`).join(' · ')}</p>}
        {found && <p>{found}</p>}
        <Select label={t.content} value={kind} onChange={({ currentTarget }) => choose(currentTarget.value as ExportKind)}>
          {KINDS.map((one) => (
            <option key={one} value={one}>
              {t.kinds[one]}
            </option>
          ))}
        </Select>
        {isZip ? (
          <Select label={t.files} name="files">
            {Object.entries(t.fileKinds).map(([value, name]) => (
              <option key={value} value={value}>
                {name}
              </option>
            ))}
          </Select>
        ) : (
          <Select label={t.format} name="format">
            {FORMATS.map((one) => (
              <option key={one} value={one}>
                {one === 'xlsx' ? 'Excel (XLSX)' : one.toUpperCase()}
              </option>
            ))}
          </Select>
        )}
        <Problem error={send.error} />
        <Actions>
          <Button onClick={close}>{t.cancel}</Button>
          <Button type="submit" kind="primary" isBusy={send.isPending}>
            {t.begin}
          </Button>
        </Actions>
      </Form>
    </Dialog>
  )
}

import { useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { answer, api } from '../../../api/client.ts'
import { useSend } from '../../../api/queries.ts'
import type { CfdiFilters, ExportFormat, ExportKind } from '../../../api/routes.d.ts'
import { useWords } from '../../../language.ts'
import { Button } from '../../../parts/button.tsx'
import { Dialog } from '../../../parts/dialog.tsx'
import { Actions, Form, Select } from '../../../parts/field.tsx'
import { Problem } from '../../../parts/states.tsx'
import { Room } from '../../../room/room.tsx'
import { type Filters, useFilterText } from './filters.tsx'
import { words } from './words.ts'

const KINDS: readonly ExportKind[] = ['cfdi', 'conceptos', 'pagos', 'xml']

/** Begins an export with the filters of the page. */
export function Exporting({ fiscal_entity_id, filters, close }: { fiscal_entity_id: string; filters: Filters; close: () => void }) {
  const t = useWords(words)
  const textOf = useFilterText()
  const [, go] = useLocation()
  const [kind, choose] = useState<ExportKind>('cfdi')
  const formats: readonly ExportFormat[] = kind === 'xml' ? ['zip'] : ['xlsx', 'csv', 'ndjson']
  const send = useSend(
    (body: { kind: ExportKind; format: ExportFormat }, headers) =>
      // The texts of the address are those that the API takes, for true and false as well.
      answer(api.POST('/v1/exports', { body: { fiscal_entity_id, filters: filters as CfdiFilters, ...body }, headers })),
    ['exports', 'billing'],
  )
  const named = Object.entries(filters).map(([name, value]) => textOf(name, value))
  return (
    <Dialog title={t.exports} close={close}>
      <Room of="exports" />
      <Form
        onSubmit={(form) => send.mutate({ kind, format: String(form.get('format')) as ExportFormat }, { onSuccess: () => go('/exports') })}
      >
        <p>{named.length > 0 ? t.exportLead : t.exportAll}</p>
        {named.length > 0 && <p>{named.map(({ label, value }) => `${label}: ${value}`).join(' · ')}</p>}
        <Select label={t.content} value={kind} onChange={({ currentTarget }) => choose(currentTarget.value as ExportKind)}>
          {KINDS.map((one) => (
            <option key={one} value={one}>
              {t.kinds[one]}
            </option>
          ))}
        </Select>
        <Select label={t.format} name="format">
          {formats.map((one) => (
            <option key={one} value={one}>
              {one.toUpperCase()}
            </option>
          ))}
        </Select>
        <Problem error={send.error} />
        <Actions>
          <Button type="submit" kind="primary" isBusy={send.isPending}>
            {t.begin}
          </Button>
        </Actions>
      </Form>
    </Dialog>
  )
}

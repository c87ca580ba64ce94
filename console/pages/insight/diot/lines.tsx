import type { DiotLine } from '../../../api/routes.d.ts'
import { count, money, NOTHING } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Badge } from '../../../parts/badge.tsx'
import { Button } from '../../../parts/button.tsx'
import type { Endless } from '../../../parts/more.tsx'
import { Panel } from '../../../parts/page.tsx'
import { Table } from '../../../parts/table.tsx'
import { Drill } from '../figures/drill.tsx'
import css from '../figures/figures.module.css'
import { words } from './words.ts'

/** The fields before this one are no amounts of the line, and the last one says whether effects were given. */
const FIRST_AMOUNT = 8
const MANIFEST = 54

/** What a line has in its fields with amounts, by their names. */
function Fields({ line: { fields, exact } }: { line: DiotLine }) {
  const t = useWords(words)
  const shown = fields.flatMap((text, at) => (at + 1 >= FIRST_AMOUNT && text !== '' ? [[at + 1, text] as const] : []))
  return (
    <ul>
      {shown.map(([n, text]) => (
        <li key={n}>
          {t.inField(n, t.fields[n]!)}: <b title={exact[n] && t.exact(money(exact[n]))}>{n === MANIFEST ? text : money(text)}</b>
        </li>
      ))}
    </ul>
  )
}

function Findings({ line: { findings, supposed } }: { line: DiotLine }) {
  const t = useWords(words)
  return (
    <span class={css.two}>
      {findings.length === 0 && <Badge tone="good">{t.noFindings}</Badge>}
      {findings.map(({ code, field, amount, drilldown }) => (
        <span key={`${code} ${field}`} title={code}>
          {field !== null && <b>{t.inField(field, t.fields[field]!)}. </b>}
          {t.lineFindings[code]} {amount && <Drill to={drilldown ?? undefined} label={t.lineFindings[code]} text={money(amount)} />}
        </span>
      ))}
      {supposed.length > 0 && <small>{t.supposed(supposed.map((what) => t.supposedOf[what]).join(', '))}</small>}
    </span>
  )
}

/** The lines of the file. `change` opens the settings of a supplier. */
export function Lines({ lines, list, change }: { lines: readonly DiotLine[]; list: Endless; change: (rfc: string) => void }) {
  const t = useWords(words)
  return (
    <Panel title={t.lines} flush>
      <Table<DiotLine>
        label={t.lines}
        rows={lines}
        keyOf={({ rfc, tipo_operacion }) => `${rfc} ${tipo_operacion}`}
        list={list}
        columns={[
          {
            name: t.supplier,
            cell: ({ rfc, name }) => (
              <span class={css.two}>
                <b>{name ?? rfc ?? t.global}</b>
                {name && <small>{rfc}</small>}
              </span>
            ),
          },
          { name: t.number, end: true, cell: ({ line }) => (line === null ? <Badge tone="idle">{t.notFiled}</Badge> : count(line)) },
          {
            name: t.operation,
            cell: ({ tipo_tercero, tipo_operacion }) => (
              <span class={css.two}>
                <span>{`${tipo_tercero} ${t.terceros[tipo_tercero]}`}</span>
                <small>{`${tipo_operacion} ${t.operaciones[tipo_operacion] ?? NOTHING}`}</small>
              </span>
            ),
          },
          { name: t.content, cell: (line) => <Fields line={line} /> },
          { name: t.checks, cell: (line) => <Findings line={line} /> },
          {
            name: t.settings,
            cell: ({ rfc, name }) =>
              rfc && (
                <Button small needs="admin" aria-label={t.changeOf(name ?? rfc)} onClick={() => change(rfc)}>
                  {t.change}
                </Button>
              ),
          },
        ]}
      />
    </Panel>
  )
}

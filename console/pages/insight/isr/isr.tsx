import { queryOptions, useQuery } from '@tanstack/preact-query'
import { answer, api } from '../../../api/client.ts'
import type { IsrLine, IsrPayment } from '../../../api/routes.d.ts'
import { useCodes } from '../../../codes/codes.ts'
import { money, month as monthName, NOTHING, rate } from '../../../format.ts'
import { language, useWords } from '../../../language.ts'
import { Badge } from '../../../parts/badge.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import { Call, Figures, Panel } from '../../../parts/page.tsx'
import { Skeleton } from '../../../parts/states.tsx'
import { Table } from '../../../parts/table.tsx'
import { dayIn } from '../../account/days.ts'
import { Basis } from '../figures/basis.tsx'
import { Drill, unlessUnknown } from '../figures/drill.tsx'
import { CENTRAL } from '../figures/entries.tsx'
import css from '../figures/figures.module.css'
import { preceding } from '../figures/months.ts'
import { Operation } from '../figures/operation.tsx'
import { type Own, useWhole } from '../figures/read.ts'
import { State } from '../figures/state.tsx'
import { type At, Surface } from '../figures/surface.tsx'
import { useSentence } from '../sentences/sentences.ts'
import { askedWith, Inputs, NAMES, type Regimen, regimesOf } from './inputs.tsx'
import { words } from './words.ts'

const PATH = '/v1/analytics/isr-provisional'
/** Lines that are no amount. */
const FACTORS: Record<string, (value: string) => string> = { tasa: rate, coeficiente: (value) => value }
const RESULTS = ['ingresos_nominales', 'utilidad', 'base', 'isr', 'a_pagar']

const textOf = ({ line, value }: IsrLine): string => (value === null ? NOTHING : (FACTORS[line] ?? money)(value))
/** Of the received documents; the others are of the issued ones. */
const RECEIVED = ['deducciones', 'no_deducible', 'inversiones']

function Lines({ of: { data, drilldown, basis, data_quality }, label }: { of: IsrPayment; label: string }) {
  const t = useWords(words)
  const say = useSentence()
  const nameOf = (line: string) => t.lines[line] ?? line
  const shown = (one: IsrLine): string => {
    const { length } = data_quality.missing_months[RECEIVED.includes(one.line) ? 'received' : 'issued']
    return unlessUnknown(textOf(one), length === 0 || one.source !== 'documents')
  }
  return (
    <Table<IsrLine>
      label={label}
      isSummed={false}
      rows={data}
      keyOf={({ line }) => line}
      columns={[
        {
          name: t.line,
          cell: ({ line }) => (
            <span class={css.line}>
              {RESULTS.includes(line) ? <b>{nameOf(line)}</b> : nameOf(line)}
              {basis.formulas[line] && <small>{say(basis.formulas[line])}</small>}
            </span>
          ),
        },
        {
          name: t.amount,
          end: true,
          cell: (one) => {
            const figure = <Drill to={drilldown[one.line]} label={nameOf(one.line)} text={shown(one)} />
            return RESULTS.includes(one.line) ? <b>{figure}</b> : figure
          },
        },
        { name: t.source, cell: ({ source, value }) => (value === null ? t.missing : t.sources[source]) },
      ]}
    />
  )
}

function Payment({ asked, at: { entity } }: { asked: Own; at: At }) {
  const t = useWords(words)
  const { said } = useCodes()
  const query = useWhole<IsrPayment>(PATH, asked)
  return (
    <Loaded query={query} rows={8}>
      {(payment) => {
        const { period, regimen, a_pagar, declarado, diferencia, is_partial, questions, data } = payment
        const month = monthName(period, 'long')
        const label = `${t.title}, ${month}`
        const isUnknown = a_pagar === null && data.every(({ line, value }) => line === 'a_pagar' || value !== null)
        return (
          <>
            <State of={payment} />
            <Panel title={`${entity.rfc} · ${month}`} lead={said('regimen_fiscal', regimen)}>
              <Figures
                figures={[
                  { name: t.due, value: money(a_pagar), note: is_partial && <Badge tone="wait">{t.partial}</Badge> },
                  {
                    name: t.declared,
                    value: money(declarado?.isr_a_cargo),
                    note: declarado
                      ? declarado.operation_number && (
                          <Operation entity={entity.fiscal_entity_id} period={period} number={declarado.operation_number} />
                        )
                      : t.notDeclared,
                  },
                  { name: t.difference, value: money(diferencia), note: t.differenceNote },
                ]}
              />
              {isUnknown && <p class={css.note}>{t.unknown}</p>}
              {questions.length > 0 && (
                <ul class={css.note}>
                  {questions.map(({ reason }) => (
                    <li key={reason}>{t.questions[reason]}</li>
                  ))}
                </ul>
              )}
            </Panel>
            <Panel flush title={t.table} lead={t.tableLead}>
              <Lines of={payment} label={label} />
            </Panel>
            <Panel
              title={t.files}
              actions={(['pdf', 'xlsx'] as const).map((format) => (
                <a key={format} href={`${PATH}/file?${new URLSearchParams({ ...asked, format, language: language() })}`} download="">
                  {t.formats[format]}
                </a>
              ))}
            >
              <p>{t.filesLead}</p>
            </Panel>
            <Basis of={payment} labels={t.lines} />
            <Call call={`GET ${PATH}?${new URLSearchParams(asked)}`} />
          </>
        )
      }}
    </Loaded>
  )
}

const profileQuery = (fiscal_entity_id: string) =>
  queryOptions({
    queryKey: ['tax-profile', fiscal_entity_id],
    queryFn: () => answer(api.GET('/v1/fiscal-entities/{fiscal_entity_id}/tax-profile', { params: { path: { fiscal_entity_id } } })),
  })

/** The regime that the address names, or that of the tax status; the general one of its kind of person when it names none of them. */
function useRegimen({ entity: { fiscal_entity_id, rfc }, said }: At): Regimen | null {
  const own = regimesOf(rfc)
  const named = own.find((one) => one === said('regimen'))
  const { data, error } = useQuery({ ...profileQuery(fiscal_entity_id), enabled: named === undefined })
  if (named) return named
  if (!data && !error) return null
  const codes = data?.tax_status?.fields.regimes.map(({ code }) => code) ?? []
  return own.find((one) => codes.includes(one)) ?? own[0]!
}

function Asking({ at }: { at: At }) {
  const regimen = useRegimen(at)
  const { rfc } = at.entity
  // The month before this one is to be filed.
  const period = at.said('period') || preceding(dayIn(new Date().toISOString(), CENTRAL).slice(0, 7))
  if (regimen === null) return <Skeleton rows={8} />
  return (
    <>
      <Inputs {...at} period={period} regimen={regimen} rfc={rfc} />
      <Payment at={at} asked={askedWith(at.own, period, regimen, rfc)} />
    </>
  )
}

export default function IsrPage() {
  const t = useWords(words)
  return (
    <Surface title={t.title} lead={t.lead} names={NAMES}>
      {(at) => <Asking key={at.entity.fiscal_entity_id} at={at} />}
    </Surface>
  )
}

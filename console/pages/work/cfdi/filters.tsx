import { type Catalog, useCodes } from '../../../codes/codes.ts'
import { day } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Chips } from '../../../parts/chips.tsx'
import { Field, Select } from '../../../parts/field.tsx'
import { words } from './words.ts'

/** The parameters of `GET /v1/cfdi` that choose documents, and those that the form offers. The others arrive by links. */
const OFFERED = [
  'direction',
  'estatus',
  'tipo_comprobante',
  'payment_status',
  'metodo_pago',
  'forma_pago',
  'uso_cfdi',
  'tipo_relacion',
  'blacklist',
  'issued_from',
  'issued_to',
  'counterparty_rfc',
  'total_min',
  'total_max',
  'balance_min',
  'overdue_days_min',
  'paid_from',
  'paid_to',
  'currency',
  'has_xml',
  'uuid',
  'as_of',
] as const
const LINKED = [
  'emisor_rfc',
  'receptor_rfc',
  'serie',
  'folio',
  'version',
  'cancelled_from',
  'cancelled_to',
  'has_pdf',
  'kind',
  'is_substituted',
  'to_itself',
] as const
const NAMES: readonly string[] = [...OFFERED, ...LINKED]
const DAYS = /(_from|_to|as_of)$/
const AMOUNTS = /_(min|max)$/

/** Whether the value of a filter is a day that there is: an address may say any text. */
export const isDay = (text: string): boolean => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(`${text}T00:00Z`))

export type Filters = Record<string, string>

/** The filters of an address, search included. */
export function filtersOf(params: URLSearchParams): Filters {
  const found: Filters = {}
  for (const name of [...NAMES, 'q']) {
    const value = params.get(name)
    if (value) found[name] = value
  }
  return found
}

/** What an address says beside its filters: the RFC, also by its name of before, and what the page itself is at. */
const OTHERS: readonly string[] = [...NAMES, 'q', 'sort', 'fiscal_entity_id', 'fiscalEntityId', 'export', 'cursor', 'limit']

/** What an address says that is no filter: nothing is chosen by it, and whoever wrote it believes that something is. */
export const strangersOf = (params: URLSearchParams): string[] => [...new Set(params.keys())].filter((name) => !OTHERS.includes(name))

/** The values that a filter can have, with their names; undefined of one that is typed. */
function useChoices() {
  const t = useWords(words)
  const { isCatalog, namesOf, said } = useCodes()
  const ofCatalog = (name: Catalog): [string, string][] =>
    Object.keys(namesOf(name))
      .sort()
      .map((code) => [code, said(name, code)])
  return (name: string): [string, string][] | undefined =>
    isCatalog(name) ? ofCatalog(name) : t.values[name] && Object.entries(t.values[name])
}

/** A filter as people say it. */
export function useFilterText() {
  const t = useWords(words)
  const { isCatalog, said } = useCodes()
  return (name: string, value: string) => {
    const known = t.values[name]
    if (DAYS.test(name) && isDay(value)) return { name, label: t.names[name] ?? name, value: day(value) }
    // Several codes stand beside each other with commas.
    const named =
      known || isCatalog(name) ? value.split(',').map((one) => known?.[one] ?? (isCatalog(name) ? said(name, one) : one)) : [value]
    return { name, label: t.names[name] ?? name, value: known?.[value] ?? named.join(', ') }
  }
}

interface Props {
  filters: Filters
  set: (name: string, value: string) => void
  clear: () => void
}

export function CfdiFilters({ filters, set, clear }: Props) {
  const t = useWords(words)
  const textOf = useFilterText()
  const choicesOf = useChoices()
  const chips = NAMES.filter((name) => filters[name]).map((name) => textOf(name, filters[name]!))
  return (
    <Chips chips={chips} remove={(name) => set(name, '')} clear={clear}>
      {OFFERED.map((name) => {
        const label = t.names[name]!
        const value = filters[name] ?? ''
        const choices = choicesOf(name)
        if (!choices)
          return (
            <Field
              key={name}
              label={label}
              name={name}
              type={DAYS.test(name) ? 'date' : 'text'}
              inputMode={AMOUNTS.test(name) ? 'decimal' : undefined}
              pattern={AMOUNTS.test(name) ? '[0-9]+([.][0-9]{1,6})?' : undefined}
              value={DAYS.test(name) ? value.slice(0, 10) : value}
              onChange={({ currentTarget }) => currentTarget.checkValidity() && set(name, currentTarget.value.trim())}
            />
          )
        return (
          <Select key={name} label={label} name={name} value={value} onChange={({ currentTarget }) => set(name, currentTarget.value)}>
            <option value="">{t.any}</option>
            {value && !choices.some(([one]) => one === value) && <option value={value}>{textOf(name, value).value}</option>}
            {choices.map(([one, text]) => (
              <option key={one} value={one}>
                {text}
              </option>
            ))}
          </Select>
        )
      })}
    </Chips>
  )
}

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
  'blacklist',
  'issued_from',
  'issued_to',
  'counterparty_rfc',
  'total_min',
  'total_max',
  'balance_min',
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
  'forma_pago',
  'uso_cfdi',
  'serie',
  'folio',
  'version',
  'cancelled_from',
  'cancelled_to',
  'tipo_relacion',
  'has_pdf',
  'kind',
  'is_substituted',
  'to_itself',
] as const
const NAMES: readonly string[] = [...OFFERED, ...LINKED]
const DAYS = /(_from|_to|as_of)$/
const AMOUNTS = /_(min|max)$/

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

/** A filter as people say it. */
export function useFilterText() {
  const t = useWords(words)
  return (name: string, value: string) => ({ name, label: t.names[name] ?? name, value: t.values[name]?.[value] ?? value })
}

interface Props {
  filters: Filters
  set: (name: string, value: string) => void
  clear: () => void
}

export function CfdiFilters({ filters, set, clear }: Props) {
  const t = useWords(words)
  const textOf = useFilterText()
  const chips = NAMES.filter((name) => filters[name]).map((name) => textOf(name, filters[name]!))
  return (
    <Chips chips={chips} remove={(name) => set(name, '')} clear={clear}>
      {OFFERED.map((name) => {
        const label = t.names[name]!
        const value = filters[name] ?? ''
        const choices = t.values[name]
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
            {value && !choices[value] && <option value={value}>{value}</option>}
            {Object.entries(choices).map(([one, text]) => (
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

import { useState } from 'preact/hooks'
import { useCodes } from '../../../codes/codes.ts'
import { useWords } from '../../../language.ts'
import css from '../figures/figures.module.css'
import type { Own } from '../figures/read.ts'
import type { Asked } from '../figures/surface.tsx'
import { words } from './words.ts'

export const REGIMENES = ['601', '612', '626'] as const
export type Regimen = (typeof REGIMENES)[number]

const INPUTS = ['coefficient', 'other_deductions', 'losses', 'ptu', 'earlier_payments'] as const
type Input = (typeof INPUTS)[number]

/** The parameters of the API that an address may have. */
export const NAMES = ['period', 'regimen', ...INPUTS] as const

/** A company has an RFC of twelve characters. */
const isCompany = (rfc: string): boolean => rfc.length === 12

/** The regimes that an RFC can have. */
export const regimesOf = (rfc: string): readonly Regimen[] => (isCompany(rfc) ? ['601', '626'] : ['612', '626'])

/** What no CFDI says of a payment in a regime. */
function inputsOf(regimen: Regimen, rfc: string): readonly Input[] {
  if (regimen === '626' && !isCompany(rfc)) return []
  return regimen === '601' ? INPUTS.filter((one) => one !== 'other_deductions') : INPUTS.filter((one) => one !== 'coefficient')
}

/** What was given last for an RFC: whoever looks at the documents of a line goes back to the same payment. */
const given = new Map<string, Own>()
export const givenFor = ({ fiscal_entity_id = '' }: Own): Own => given.get(fiscal_entity_id) ?? {}

/** What the API is asked: of what was given, what the regime takes. */
export function askedWith(own: Own, period: string, regimen: Regimen, rfc: string): Own {
  const { fiscal_entity_id = '' } = own
  const taken = inputsOf(regimen, rfc).flatMap((name) => (own[name] ? [[name, own[name]] as const] : []))
  given.set(fiscal_entity_id, Object.fromEntries(taken))
  return { fiscal_entity_id, period, regimen, ...Object.fromEntries(taken) }
}

/** An amount as people type it. */
const plain = (text: string): string => text.replace(/[$,\s]/g, '')

function Amount({ name, said, change }: Asked & { name: Input }) {
  const t = useWords(words)
  const [isWrong, tell] = useState(false)
  const isValid = (text: string) => text === '' || (name === 'coefficient' ? /^[01](\.\d{1,4})?$/ : /^\d{1,12}(\.\d{1,2})?$/).test(text)
  return (
    <label>
      {t.inputs[name]}
      <input
        key={said(name)}
        defaultValue={said(name)}
        inputMode="decimal"
        size={9}
        aria-invalid={isWrong}
        title={isWrong ? (name === 'coefficient' ? t.coefficientFault : t.amountFault) : t.hints[name]}
        onKeyDown={({ key, currentTarget }) => key === 'Enter' && currentTarget.blur()}
        onBlur={({ currentTarget: { value } }) => {
          const text = plain(value)
          tell(!isValid(text))
          if (isValid(text) && text !== said(name)) change({ [name]: text })
        }}
      />
    </label>
  )
}

interface Props extends Asked {
  period: string
  regimen: Regimen
  rfc: string
}

/** The month, the regime, and what no CFDI says. */
export function Inputs({ period, regimen, rfc, ...asked }: Props) {
  const t = useWords(words)
  const { said } = useCodes()
  return (
    <div class={css.bar}>
      <label>
        {t.month}
        <input
          type="month"
          value={period}
          onChange={({ currentTarget: { value } }) => /^\d{4}-(0[1-9]|1[0-2])$/.test(value) && asked.change({ period: value })}
        />
      </label>
      <label>
        {t.regimen}
        <select value={regimen} onChange={({ currentTarget: { value } }) => asked.change({ regimen: value })}>
          {regimesOf(rfc).map((one) => (
            <option key={one} value={one}>
              {said('regimen_fiscal', one)}
            </option>
          ))}
        </select>
      </label>
      {inputsOf(regimen, rfc).map((name) => (
        <Amount key={name} name={name} {...asked} />
      ))}
    </div>
  )
}

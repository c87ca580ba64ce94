import { faultOf } from '../../../api/problems.ts'
import { useWords } from '../../../language.ts'
import { Field, Select } from '../../../parts/field.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import { words as saying } from '../extractors/words.ts'
import { Choices } from '../parts/choices.tsx'
import { useSources } from '../parts/sources.ts'
import { type Draft, SCOPES, WHENS } from './draft.ts'
import { words } from './words.ts'

const ZONES = [
  ...['America/Mexico_City', 'America/Cancun', 'America/Monterrey', 'America/Chihuahua', 'America/Hermosillo', 'America/Mazatlan'],
  ...['America/Ciudad_Juarez', 'America/Tijuana', 'UTC'],
]

interface Props {
  draft: Draft
  set: (changed: Partial<Draft>) => void
  error: Error | null
}

/** The fields of an extractor, each with what is wrong with it. */
export function Fields({ draft, set, error }: Props) {
  const t = useWords(words)
  const say = useWords(saying)
  const sources = useSources()
  const text = (name: keyof Omit<Draft, 'sources'>) => ({
    value: draft[name],
    onInput: ({ currentTarget }: { currentTarget: { value: string } }) => set({ [name]: currentTarget.value }),
  })
  const zones = ZONES.includes(draft.timezone) ? ZONES : [draft.timezone, ...ZONES]
  return (
    <>
      <Field label={t.name} {...text('name')} required maxLength={120} fault={faultOf(error, 'name')} />
      <Select label={t.when} {...text('when')} fault={faultOf(error, 'schedule_kind') ?? faultOf(error, 'trigger_kind')}>
        {WHENS.map((when) => (
          <option key={when} value={when}>
            {t.whens[when]}
          </option>
        ))}
      </Select>
      {draft.when === 'every_n_days' && (
        <Field label={t.n} {...text('n')} type="number" min="1" max="365" required fault={faultOf(error, 'schedule_spec')} />
      )}
      {draft.when === 'nth_weekday_monthly' && (
        <>
          <Select label={t.nth} {...text('nth')} fault={faultOf(error, 'schedule_spec')}>
            {say.nths.map((one, n) => (
              <option key={one} value={n + 1}>
                {one}
              </option>
            ))}
          </Select>
          <Select label={t.weekday} {...text('weekday')}>
            {say.days.map((one, n) => (
              <option key={one} value={n}>
                {one}
              </option>
            ))}
          </Select>
        </>
      )}
      <Select label={t.scope} {...text('scope')} fault={faultOf(error, 'scope')}>
        {SCOPES.map((scope) => (
          <option key={scope} value={scope}>
            {t.scopes[scope]}
          </option>
        ))}
      </Select>
      {draft.scope === 'last_n_months' && (
        <Field
          {...{ label: t.months, hint: t.monthsHint, fault: faultOf(error, 'scope_months') }}
          {...text('months')}
          type="number"
          min="1"
          max="240"
          required
        />
      )}
      <Loaded query={sources}>
        {(known) => (
          <Choices
            legend={t.sources}
            chosen={draft.sources}
            set={(chosen) => set({ sources: chosen })}
            fault={faultOf(error, 'data_source_keys')}
            choices={known
              .filter(({ is_active }) => is_active)
              .map(({ key, label, is_mandatory, is_premium }) => ({
                ...{ value: key, name: label },
                note: is_mandatory ? t.always : is_premium && t.premium,
                fixed: is_mandatory || undefined,
              }))}
          />
        )}
      </Loaded>
      <Select label={t.timezone} hint={t.timezoneHint} {...text('timezone')} fault={faultOf(error, 'timezone')}>
        {zones.map((zone) => (
          <option key={zone}>{zone}</option>
        ))}
      </Select>
    </>
  )
}

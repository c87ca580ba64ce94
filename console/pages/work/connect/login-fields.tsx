import { faultOf, sentenceOf } from '../../../api/problems.ts'
import { useWords } from '../../../language.ts'
import { Field, FileField } from '../../../parts/field.tsx'
import states from '../../../parts/states.module.css'
import { Problem } from '../../../parts/states.tsx'
import { useSession } from '../../../session.ts'
import css from './connect.module.css'
import { words } from './words.ts'

export type Kind = 'ciec' | 'efirma'

interface Props {
  kind: Kind
  choose: (kind: Kind) => void
  error: Error | null
}

/** What an RFC logs in with at the authority. */
export function LoginFields({ kind, choose, error }: Props) {
  const t = useWords(words)
  const { tax_authority } = useSession()
  return (
    <>
      {tax_authority === 'sandbox' && (
        <div class={states.notice}>
          <p>{t.invented}</p>
        </div>
      )}
      <fieldset class={css.kinds}>
        <legend>{t.how}</legend>
        {(['ciec', 'efirma'] as const).map((one) => (
          <label key={one}>
            <input type="radio" name="kind" value={one} checked={kind === one} onChange={() => choose(one)} />
            {t[one]}
          </label>
        ))}
      </fieldset>
      {kind === 'ciec' ? (
        <Field
          label={t.ciec}
          hint={t.ciecHint}
          name="ciec"
          type="password"
          required
          autocomplete="off"
          maxLength={200}
          fault={faultOf(error, 'ciec')}
        />
      ) : (
        <>
          <FileField
            label={t.certificate}
            name="certificate"
            accept=".cer,.pem,.crt"
            required
            fault={faultOf(error, 'efirma.certificate')}
          />
          <FileField label={t.key} name="private_key" accept=".key,.pem" required fault={faultOf(error, 'efirma.private_key')} />
          <Field
            label={t.password}
            hint={t.efirmaHint}
            name="password"
            type="password"
            required
            autocomplete="off"
            fault={faultOf(error, 'efirma.password')}
          />
        </>
      )}
    </>
  )
}

const FIELDS = ['rfc', 'name', 'ciec', 'efirma.certificate', 'efirma.private_key', 'efirma.password']

/** Why the form was refused, unless a field says the same sentence already. */
export const Refusal = ({ error }: { error: Error | null }) =>
  error && FIELDS.some((path) => faultOf(error, path) === sentenceOf(error)) ? null : <Problem error={error} />

const base64 = async (file: FormDataEntryValue | null): Promise<string> => {
  if (!(file instanceof File)) return ''
  const bytes = new Uint8Array(await file.arrayBuffer())
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
}

/** What a form with these fields sends. */
export const loginOf = async (form: FormData, kind: Kind) =>
  kind === 'ciec'
    ? { ciec: String(form.get('ciec')) }
    : {
        efirma: {
          certificate: await base64(form.get('certificate')),
          private_key: await base64(form.get('private_key')),
          password: String(form.get('password')),
        },
      }

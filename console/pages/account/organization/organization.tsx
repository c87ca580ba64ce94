import { useQuery } from '@tanstack/preact-query'
import { answer, api } from '../../../api/client.ts'
import { faultOf } from '../../../api/problems.ts'
import { useSend } from '../../../api/queries.ts'
import type { Organization, OrganizationChanges } from '../../../api/routes.d.ts'
import { count } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Button } from '../../../parts/button.tsx'
import { Actions, Field, Form, Select } from '../../../parts/field.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import { Call, Facts, Panel, Title } from '../../../parts/page.tsx'
import { Problem } from '../../../parts/states.tsx'
import css from '../account.module.css'
import { words } from './words.ts'

const MEXICAN = [
  'America/Mexico_City',
  'America/Monterrey',
  'America/Merida',
  'America/Cancun',
  'America/Chihuahua',
  'America/Ciudad_Juarez',
  'America/Ojinaga',
  'America/Mazatlan',
  'America/Bahia_Banderas',
  'America/Hermosillo',
  'America/Tijuana',
  'America/Matamoros',
]

/** Every zone that the browser knows. The API knows them by the same names. */
const others = (own: string): string[] =>
  [...new Set([...Intl.supportedValuesOf('timeZone'), own])].filter((zone) => !MEXICAN.includes(zone))

const MEMBERS = ['name', 'contact_email', 'logo_url', 'timezone'] as const

function Profile({ organization }: { organization: Organization }) {
  const t = useWords(words)
  const send = useSend((body: OrganizationChanges) => answer(api.PATCH('/v1/organization', { body })), ['organization', 'session'])
  const submit = (form: FormData) => {
    const changed = MEMBERS.map((name) => [name, String(form.get(name) ?? '').trim()] as const).filter(
      ([name, value]) => (value !== '' || name === 'logo_url') && value !== (organization[name] ?? ''),
    )
    send.mutate(Object.fromEntries(changed))
  }
  const nameOf = (zone: string) => zone.replaceAll('_', ' ')
  return (
    <Panel>
      <div class={css.form}>
        <Form onSubmit={submit}>
          <Field
            label={t.name}
            name="name"
            required
            minLength={2}
            maxLength={200}
            defaultValue={organization.name}
            fault={faultOf(send.error, 'name')}
          />
          <Field
            label={t.contact}
            name="contact_email"
            type="email"
            required={organization.contact_email !== null}
            defaultValue={organization.contact_email ?? ''}
            fault={faultOf(send.error, 'contact_email')}
          />
          <Field
            label={t.logo}
            name="logo_url"
            type="url"
            pattern="https://.+"
            hint={t.logoHint}
            defaultValue={organization.logo_url ?? ''}
            fault={faultOf(send.error, 'logo_url')}
          />
          <Select label={t.zone} hint={t.zoneHint} name="timezone" fault={faultOf(send.error, 'timezone')}>
            {[[t.mexico, MEXICAN] as const, [t.others, others(organization.timezone)] as const].map(([label, zones]) => (
              <optgroup key={label} label={label}>
                {zones.map((zone) => (
                  <option key={zone} value={zone} selected={zone === organization.timezone}>
                    {nameOf(zone)}
                  </option>
                ))}
              </optgroup>
            ))}
          </Select>
          <Problem error={send.error} />
          <Actions>
            <Button kind="primary" type="submit" needs="admin" isBusy={send.isPending}>
              {t.save}
            </Button>
            <span class={css.row} role="status">
              {send.isSuccess && t.saved}
            </span>
          </Actions>
        </Form>
      </div>
    </Panel>
  )
}

export default function OrganizationPage() {
  const t = useWords(words)
  const query = useQuery({ queryKey: ['organization'], queryFn: () => answer(api.GET('/v1/organization')) })
  const stats = useQuery({ queryKey: ['organization', 'stats'], queryFn: () => answer(api.GET('/v1/organization/stats')) })
  return (
    <>
      <Title text={t.title} lead={t.lead} />
      <Loaded query={query} rows={4}>
        {(organization) => (
          <>
            <Profile organization={organization} />
            <Panel>
              <Facts
                facts={[
                  [t.id, <code key="id">{organization.id}</code>],
                  [t.members, count(stats.data?.total_members)],
                  [t.rfcs, count(stats.data?.active_rfcs)],
                ]}
              />
            </Panel>
          </>
        )}
      </Loaded>
      <Call call="GET /v1/organization" />
    </>
  )
}

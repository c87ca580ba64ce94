import { useQuery } from '@tanstack/preact-query'
import { answer, api } from '../../../api/client.ts'
import { faultOf } from '../../../api/problems.ts'
import { everyPage, useSend } from '../../../api/queries.ts'
import type { DiotSupplier } from '../../../api/routes.d.ts'
import { useWords } from '../../../language.ts'
import { Button } from '../../../parts/button.tsx'
import { Dialog } from '../../../parts/dialog.tsx'
import { Actions, Field, Form, Select } from '../../../parts/field.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import { Panel } from '../../../parts/page.tsx'
import { Problem } from '../../../parts/states.tsx'
import { Table } from '../../../parts/table.tsx'
import { words } from './words.ts'

const PATH = '/v1/fiscal-entities/{fiscal_entity_id}/diot-settings'

/** What is set of an RFC, with all suppliers. */
function useSettings(fiscal_entity_id: string) {
  return useQuery({
    queryKey: ['diot', fiscal_entity_id, 'settings'],
    queryFn: async () => {
      const path = { fiscal_entity_id }
      const [{ proportion, default_use }, suppliers] = await Promise.all([
        answer(api.GET(PATH, { params: { path } })),
        everyPage<DiotSupplier>((query) => answer(api.GET(`${PATH}/suppliers`, { params: { path, query } }))),
      ])
      return { proportion, default_use, suppliers }
    },
  })
}

/** A choice of which nothing can be said. */
function Choice<Value extends string>({
  label,
  name,
  value,
  unset,
  options,
  fault,
}: {
  label: string
  name: string
  value: Value | null
  unset: string
  options: Readonly<Record<string, string>>
  fault: string | undefined
}) {
  return (
    <Select label={label} name={name} fault={fault}>
      <option value="" selected={value === null}>
        {unset}
      </option>
      {Object.entries(options).map(([one, text]) => (
        <option key={one} value={one} selected={one === value}>
          {text}
        </option>
      ))}
    </Select>
  )
}

/** What a form says of each of these; null of what it leaves empty. */
const saidIn = (form: FormData, names: readonly string[]): Record<string, string | null> =>
  Object.fromEntries(names.map((name) => [name, String(form.get(name) ?? '').trim() || null]))

/** The proportion and the use of purchases, and which suppliers have settings of their own. */
export function Settings({ fiscal_entity_id, change }: { fiscal_entity_id: string; change: (rfc: string) => void }) {
  const t = useWords(words)
  const settings = useSettings(fiscal_entity_id)
  const send = useSend(
    (body: Record<string, string | null>) => answer(api.PUT(PATH, { params: { path: { fiscal_entity_id } }, body: body as never })),
    ['diot', 'vat'],
  )
  const said = ({ rfc: _, ...one }: DiotSupplier): string =>
    [
      one.tipo_tercero && t.terceros[one.tipo_tercero],
      one.tipo_operacion && t.operaciones[one.tipo_operacion],
      one.use && t.uses[one.use],
      one.region && t.regions[one.region],
      one.tax_id,
      one.name,
      one.country,
      one.jurisdiction,
      one.manifest && `${t.fields[54]}: ${t.manifests[one.manifest]}`,
    ]
      .filter(Boolean)
      .join(' · ')
  return (
    <Panel title={t.settings} lead={t.settingsLead}>
      <Loaded query={settings}>
        {({ proportion, default_use, suppliers }) => (
          <>
            <Form onSubmit={(form) => send.mutate(saidIn(form, ['proportion', 'default_use']))}>
              <Field
                label={t.ownProportion}
                hint={t.ownProportionHint}
                name="proportion"
                inputMode="decimal"
                defaultValue={proportion ?? ''}
                fault={faultOf(send.error, 'proportion')}
              />
              <Choice
                label={t.defaultUse}
                name="default_use"
                value={default_use}
                unset={t.supposedUse}
                options={t.uses}
                fault={faultOf(send.error, 'default_use')}
              />
              <Problem error={send.error} />
              <Actions>
                <Button kind="primary" type="submit" needs="admin" isBusy={send.isPending}>
                  {t.save}
                </Button>
                {send.isSuccess && <small role="status">{t.saved}</small>}
              </Actions>
            </Form>
            {suppliers.length === 0 ? (
              <p>{t.noSuppliers}</p>
            ) : (
              <Table<DiotSupplier>
                label={t.suppliers}
                rows={suppliers}
                keyOf={({ rfc }) => rfc}
                columns={[
                  { name: t.supplier, cell: ({ rfc }) => <b>{rfc}</b> },
                  { name: t.what, cell: said },
                  {
                    name: t.settings,
                    cell: ({ rfc }) => (
                      <Button small needs="admin" aria-label={t.changeOf(rfc)} onClick={() => change(rfc)}>
                        {t.change}
                      </Button>
                    ),
                  },
                ]}
              />
            )}
          </>
        )}
      </Loaded>
    </Panel>
  )
}

const NAMES = ['tipo_tercero', 'tipo_operacion', 'use', 'region', 'tax_id', 'name', 'country', 'jurisdiction', 'manifest'] as const

/** Asks for what CFDIs do not tell of a supplier. */
export function SupplierDialog({ fiscal_entity_id, rfc, close }: { fiscal_entity_id: string; rfc: string; close: () => void }) {
  const t = useWords(words)
  const settings = useSettings(fiscal_entity_id)
  const path = { fiscal_entity_id, rfc }
  const send = useSend(
    (body: Record<string, string | null>) => answer(api.PUT(`${PATH}/suppliers/{rfc}`, { params: { path }, body: body as never })),
    ['diot', 'vat'],
  )
  const removing = useSend((_: null) => answer(api.DELETE(`${PATH}/suppliers/{rfc}`, { params: { path } })), ['diot', 'vat'])
  const fault = (name: string) => faultOf(send.error, name)
  const { '87': _, ...operations } = t.operaciones
  return (
    <Dialog title={t.settingsOf(rfc)} close={close}>
      <Loaded query={settings}>
        {({ suppliers }) => {
          const known = suppliers.find((one) => one.rfc === rfc)
          const text = (name: 'tax_id' | 'name' | 'country' | 'jurisdiction', label: string, hint?: string) => (
            <Field label={label} hint={hint} name={name} defaultValue={known?.[name] ?? ''} fault={fault(name)} />
          )
          return (
            <Form onSubmit={(form) => send.mutate(saidIn(form, NAMES), { onSuccess: close })}>
              <Choice
                {...{ label: t.tercero, name: 'tipo_tercero', value: known?.tipo_tercero ?? null, unset: t.byRfc }}
                options={t.terceros}
                fault={fault('tipo_tercero')}
              />
              <Choice
                {...{ label: t.operacion, name: 'tipo_operacion', value: known?.tipo_operacion ?? null, unset: t.byInvoice }}
                options={operations}
                fault={fault('tipo_operacion')}
              />
              <Choice
                {...{ label: t.use, name: 'use', value: known?.use ?? null, unset: t.asDefault }}
                options={t.uses}
                fault={fault('use')}
              />
              <Choice
                {...{ label: t.region, name: 'region', value: known?.region ?? null, unset: t.byPlace }}
                options={t.regions}
                fault={fault('region')}
              />
              {text('tax_id', t.taxId)}
              {text('name', t.name)}
              {text('country', t.country, t.countryHint)}
              {text('jurisdiction', t.jurisdiction, t.jurisdictionHint)}
              <Choice
                {...{ label: t.manifest, name: 'manifest', value: known?.manifest ?? null, unset: t.supposedYes }}
                options={t.manifests}
                fault={fault('manifest')}
              />
              <Problem error={send.error ?? removing.error} />
              <Actions>
                <Button kind="primary" type="submit" needs="admin" isBusy={send.isPending}>
                  {t.save}
                </Button>
                {known && (
                  <Button
                    kind="danger"
                    needs="admin"
                    isBusy={removing.isPending}
                    onClick={() => removing.mutate(null, { onSuccess: close })}
                  >
                    {t.remove}
                  </Button>
                )}
                <Button onClick={close}>{t.cancel}</Button>
              </Actions>
            </Form>
          )
        }}
      </Loaded>
    </Dialog>
  )
}

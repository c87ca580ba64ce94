import { useQuery } from '@tanstack/preact-query'
import { useState } from 'preact/hooks'
import { useLocation, useSearchParams } from 'wouter-preact'
import { answer, api } from '../../../api/client.ts'
import { faultOf } from '../../../api/problems.ts'
import { billingQuery, useSend } from '../../../api/queries.ts'
import type { FiscalEntity } from '../../../api/routes.d.ts'
import { count } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Button, ButtonLink } from '../../../parts/button.tsx'
import { Dialog } from '../../../parts/dialog.tsx'
import { Actions, Field, Form } from '../../../parts/field.tsx'
import { Call, Panel, Title } from '../../../parts/page.tsx'
import { Failed, Skeleton } from '../../../parts/states.tsx'
import { Seats } from '../../../room/room.tsx'
import { isOddRfc } from './check-digit.ts'
import css from './connect.module.css'
import { type Kind, LoginFields, loginOf, Refusal } from './login-fields.tsx'
import { words } from './words.ts'

export const CHANGES = ['standings', 'fiscal-entities', 'fiscal-entity', 'billing', 'coverage']

type Draft = { rfc: string; name?: string } & Awaited<ReturnType<typeof loginOf>>

function New() {
  const t = useWords(words)
  const [, go] = useLocation()
  const [kind, choose] = useState<Kind>('ciec')
  const { data: billing } = useQuery(billingQuery)
  const connecting = useSend((body: Draft, headers) => answer(api.POST('/v1/fiscal-entities', { body, headers })), CHANGES)
  const [doubted, doubt] = useState<Draft | null>(null)
  const connect = (draft: Draft) => connecting.mutate(draft, { onSuccess: ({ fiscal_entity_id }) => go(`/rfcs/${fiscal_entity_id}`) })
  const submit = async (form: FormData) => {
    const name = String(form.get('name') ?? '').trim()
    const draft = { rfc: String(form.get('rfc')).trim().toUpperCase(), ...(name && { name }), ...(await loginOf(form, kind)) }
    if (isOddRfc(draft.rfc)) doubt(draft)
    else connect(draft)
  }
  const { error } = connecting
  return (
    <>
      <Title text={t.title} lead={t.lead}>
        <ButtonLink href="/connect/table">{t.several}</ButtonLink>
      </Title>
      <div class={css.narrow}>
        <Seats />
        <Panel>
          <Form onSubmit={(form) => void submit(form)}>
            <Field
              label={t.rfc}
              hint={t.rfcHint}
              name="rfc"
              required
              minLength={12}
              maxLength={13}
              spellcheck={false}
              autocomplete="off"
              autocapitalize="characters"
              fault={faultOf(error, 'rfc')}
            />
            <Field label={t.name} name="name" maxLength={200} autocomplete="off" fault={faultOf(error, 'name')} />
            <LoginFields kind={kind} choose={choose} error={error} />
            <Refusal error={error} />
            <Actions>
              <Button kind="primary" type="submit" needs="admin" isBusy={connecting.isPending}>
                {t.connect}
              </Button>
              <ButtonLink href="/">{t.cancel}</ButtonLink>
            </Actions>
            {connecting.isPending && <p role="status">{t.verifying}</p>}
          </Form>
        </Panel>
        {billing && billing.seats.allowance !== null && (
          <p class={css.soft}>{t.seats(count(billing.seats.used), count(billing.seats.allowance))}</p>
        )}
        <Call call="POST /v1/fiscal-entities" />
        {doubted && (
          <Dialog title={t.odd(doubted.rfc)} close={() => doubt(null)}>
            <p>{t.oddLead}</p>
            <Actions>
              <Button kind="primary" onClick={() => doubt(null)}>
                {t.correct}
              </Button>
              <Button
                onClick={() => {
                  doubt(null)
                  connect(doubted)
                }}
              >
                {t.connectAnyway}
              </Button>
            </Actions>
          </Dialog>
        )}
      </div>
    </>
  )
}

function Update({ entity }: { entity: FiscalEntity }) {
  const t = useWords(words)
  const [, go] = useLocation()
  const [kind, choose] = useState<Kind>(entity.credential_kind === 'efirma' ? 'efirma' : 'ciec')
  const path = { fiscal_entity_id: entity.fiscal_entity_id }
  const saving = useSend(
    (body: Awaited<ReturnType<typeof loginOf>>) => answer(api.PATCH('/v1/fiscal-entities/{fiscal_entity_id}', { params: { path }, body })),
    CHANGES,
  )
  const submit = async (form: FormData) =>
    saving.mutate(await loginOf(form, kind), { onSuccess: () => go(`/rfcs/${entity.fiscal_entity_id}`) })
  return (
    <>
      <Title isThing text={t.update(entity.rfc)} lead={t.updateLead} />
      <div class={css.narrow}>
        <Panel>
          <Form onSubmit={(form) => void submit(form)}>
            <LoginFields kind={kind} choose={choose} error={saving.error} />
            <Refusal error={saving.error} />
            <Actions>
              <Button kind="primary" type="submit" needs="admin" isBusy={saving.isPending}>
                {t.save}
              </Button>
              <ButtonLink href={`/rfcs/${entity.fiscal_entity_id}`}>{t.cancel}</ButtonLink>
            </Actions>
            {saving.isPending && <p role="status">{t.verifying}</p>}
          </Form>
        </Panel>
        <Call call={`PATCH /v1/fiscal-entities/${entity.fiscal_entity_id}`} />
      </div>
    </>
  )
}

/** Connects an RFC; or, of one that the address names, sends another login. */
export default function Connect() {
  const [params] = useSearchParams()
  const fiscal_entity_id = params.get('fiscal_entity_id')
  const { data, error, refetch } = useQuery({
    queryKey: ['fiscal-entity', fiscal_entity_id],
    enabled: fiscal_entity_id !== null,
    queryFn: () => answer(api.GET('/v1/fiscal-entities/{fiscal_entity_id}', { params: { path: { fiscal_entity_id: fiscal_entity_id! } } })),
  })
  if (fiscal_entity_id === null) return <New />
  if (error && !data) return <Failed isPage error={error} retry={refetch} />
  return data ? <Update entity={data} /> : <Skeleton rows={3} />
}

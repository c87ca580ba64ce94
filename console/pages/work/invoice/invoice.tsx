import { useQuery } from '@tanstack/preact-query'
import { ArrowLeft, Download, Printer, ShieldCheck } from 'lucide-preact'
import { Link, useSearchParams } from 'wouter-preact'
import { answer, api } from '../../../api/client.ts'
import { useSend } from '../../../api/queries.ts'
import { instant } from '../../../format.ts'
import { language, useWords } from '../../../language.ts'
import { Button } from '../../../parts/button.tsx'
import { useEntity } from '../../../parts/entity.tsx'
import { Call, Panel, Title } from '../../../parts/page.tsx'
import { Failed, Problem, Skeleton } from '../../../parts/states.tsx'
import { isUnreadable, Unreadable } from '../../../parts/unreadable.tsx'
import { useZone } from '../../../session.ts'
import { listOf } from '../cfdi/back.ts'
import { Blacklist } from '../cfdi/badges.tsx'
import { nameOf } from '../cfdi/name.ts'
import { words as listWords } from '../cfdi/words.ts'
import { History, Payments, Relations } from './around.tsx'
import { AsOf } from './as-of.tsx'
import { Trees } from './complements.tsx'
import css from './invoice.module.css'
import { Sheet } from './sheet.tsx'
import { words } from './words.ts'

function Check({
  uuid,
  fiscal_entity_id,
  checkedAt,
  said,
}: {
  uuid: string
  fiscal_entity_id: string
  checkedAt: string | null
  said: string | null
}) {
  const t = useWords(words)
  const zone = useZone()
  const check = useSend(
    (_: null, headers) =>
      answer(api.POST('/v1/cfdi/{uuid}/status-check', { params: { path: { uuid }, query: { fiscal_entity_id } }, headers })),
    ['cfdi-one', 'cfdi-history', 'cfdi'],
  )
  return (
    <div class={css.check}>
      <Button small isBusy={check.isPending} onClick={() => check.mutate(null)}>
        <ShieldCheck size={15} aria-hidden="true" />
        {t.check}
      </Button>
      <span role="status">
        {checkedAt && (
          <>
            {t.checked(instant(checkedAt, zone))}: <b>{t.answer[said ?? 'unknown']}</b>
          </>
        )}
      </span>
      <Problem error={check.error} />
    </div>
  )
}

export default function Invoice({ uuid = '' }: { uuid?: string }) {
  const t = useWords(words)
  const list = useWords(listWords)
  const [params] = useSearchParams()
  const { entity, entities, error: entitiesError, refetch: again } = useEntity()
  const fiscal_entity_id = params.get('fiscal_entity_id') ?? entity?.fiscal_entity_id ?? ''
  const isShut = entity !== undefined && isUnreadable(entity)
  const as_of = params.get('as_of')
  const { data, error, refetch } = useQuery({
    queryKey: ['cfdi-one', fiscal_entity_id, uuid, as_of],
    enabled: (entities !== undefined || entitiesError !== null) && !isShut,
    queryFn: () => answer(api.GET('/v1/cfdi/{uuid}', { params: { path: { uuid }, query: { fiscal_entity_id, ...(as_of && { as_of }) } } })),
  })
  if (isShut) return <Unreadable isPage entity={entity} />
  const failed = error ?? (fiscal_entity_id ? null : entitiesError)
  if (failed && !data) return <Failed isPage error={failed} retry={error ? refetch : again} />
  if (!data) return <Skeleton rows={8} />
  const name = nameOf(data)
  const type = data.kind === 'retenciones' ? list.retenciones : (list.tipo[data.tipo_comprobante ?? ''] ?? 'CFDI')
  return (
    <>
      <Link class={css.back} href={listOf(data.fiscal_entity_id)}>
        <ArrowLeft size={15} aria-hidden="true" />
        {t.back}
      </Link>
      <Title isThing text={`${type} ${name}`} lead={`${data.counterparty.nombre ?? data.counterparty.rfc}`}>
        <Blacklist listed={data.counterparty.blacklist} />
        {data.has_pdf && (
          <a
            class={css.xml}
            href={`/v1/cfdi/${data.uuid}/pdf?${new URLSearchParams({ fiscal_entity_id: data.fiscal_entity_id, language: language(), ...(as_of && { as_of }) })}`}
            target="_blank"
            rel="noreferrer"
          >
            <Printer size={16} aria-hidden="true" />
            {t.print}
          </a>
        )}
        {data.has_xml && (
          <a class={css.xml} href={`/v1/cfdi/${data.uuid}/xml?fiscal_entity_id=${data.fiscal_entity_id}`} download={`${data.uuid}.xml`}>
            <Download size={16} aria-hidden="true" />
            {t.xml}
          </a>
        )}
      </Title>
      {as_of ? (
        <AsOf cfdi={data} on={as_of} />
      ) : (
        data.kind === 'cfdi' && (
          <Check uuid={data.uuid} fiscal_entity_id={data.fiscal_entity_id} checkedAt={data.status_checked_at} said={data.status_answer} />
        )
      )}
      <Sheet cfdi={data} />
      <Trees cfdi={data} />
      {data.tipo_comprobante === 'I' && !as_of && <Payments cfdi={data} />}
      {data.tipo_comprobante === 'I' && as_of && (
        <Panel title={t.payments}>
          <p class={css.soft}>{t.paymentsHidden}</p>
        </Panel>
      )}
      <Relations cfdi={data} name={`${type} ${name}`} lead={as_of ? t.relationsNow : t.relationsLead} />
      <History cfdi={data} lead={as_of ? t.historyNow : t.historyLead} />
      <Call call={`GET /v1/cfdi/${data.uuid}?fiscal_entity_id=${data.fiscal_entity_id}${as_of ? `&as_of=${as_of}` : ''}`} />
    </>
  )
}

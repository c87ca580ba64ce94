import { useQuery } from '@tanstack/preact-query'
import { Link } from 'wouter-preact'
import { answer, api } from '../../../api/client.ts'
import type { FiscalEntity } from '../../../api/routes.d.ts'
import { useWords } from '../../../language.ts'
import { Loaded } from '../../../parts/loaded.tsx'
import { Call, Panel } from '../../../parts/page.tsx'
import { Empty } from '../../../parts/states.tsx'
import { extractorsQuery } from '../../automation/parts/queries.ts'
import css from '../figures/figures.module.css'
import { Surface } from '../figures/surface.tsx'
import { words } from './words.ts'

export const catalogQuery = {
  queryKey: ['reports'],
  queryFn: () => answer(api.GET('/v1/reports')),
  staleTime: Number.POSITIVE_INFINITY,
}

function Catalog({ fiscal_entity_id }: { fiscal_entity_id: string }) {
  const t = useWords(words)
  const catalog = useQuery(catalogQuery)
  return (
    <Loaded query={catalog} rows={5}>
      {({ data }) =>
        data.length === 0 ? (
          <Empty title={t.none} />
        ) : (
          <ul class={css.cards}>
            {data.map(({ key, title, description }) => {
              const [name, lead] = t.translated[key] ?? [title, description]
              return (
                <li key={key}>
                  <Panel title={<Link href={`/reports/${key}?fiscal_entity_id=${fiscal_entity_id}`}>{name}</Link>}>
                    <p>{lead}</p>
                  </Panel>
                </li>
              )
            })}
          </ul>
        )
      }
    </Loaded>
  )
}

const SOURCES = ['sat_cfdi_issued', 'sat_cfdi_received'] as const

/** Reports are of the whole history of an RFC: where its windows hide some of it, each one would be refused. */
function Bounded({ entity: { rfc, window_state } }: { entity: FiscalEntity }) {
  const t = useWords(words)
  const isBounded = window_state !== 'open'
  const { data } = useQuery({ ...extractorsQuery, enabled: isBounded })
  if (!isBounded) return null
  const whole = data?.find(
    ({ scope, data_source_keys }) => scope === 'full_history' && SOURCES.every((one) => data_source_keys.includes(one)),
  )
  return (
    <Panel title={t.bounded(rfc)} lead={whole ? t.waiting(whole.name) : t.boundedLead}>
      <Link href={whole ? `/extractors/${whole.extractor_id}` : '/extractors/new'}>{whole ? t.seeExtractor : t.preview}</Link>
    </Panel>
  )
}

export default function Reports() {
  const t = useWords(words)
  return (
    <Surface title={t.title} lead={t.lead}>
      {({ entity }) => (
        <>
          <Bounded entity={entity} />
          <Catalog fiscal_entity_id={entity.fiscal_entity_id} />
          <Call call="GET /v1/reports" />
        </>
      )}
    </Surface>
  )
}

import { useQuery } from '@tanstack/preact-query'
import { Link } from 'wouter-preact'
import { answer, api } from '../../../api/client.ts'
import { useWords } from '../../../language.ts'
import { Loaded } from '../../../parts/loaded.tsx'
import { Call, Panel } from '../../../parts/page.tsx'
import { Empty } from '../../../parts/states.tsx'
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

export default function Reports() {
  const t = useWords(words)
  return (
    <Surface title={t.title} lead={t.lead}>
      {({ entity: { fiscal_entity_id } }) => (
        <>
          <Catalog fiscal_entity_id={fiscal_entity_id} />
          <Call call="GET /v1/reports" />
        </>
      )}
    </Surface>
  )
}

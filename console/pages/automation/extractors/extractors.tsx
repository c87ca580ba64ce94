import { useQuery } from '@tanstack/preact-query'
import { Plus } from 'lucide-preact'
import { Link, useLocation } from 'wouter-preact'
import type { Extractor } from '../../../api/routes.d.ts'
import { instant } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Badge } from '../../../parts/badge.tsx'
import { Button } from '../../../parts/button.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import { Call, Panel, Title } from '../../../parts/page.tsx'
import { Empty } from '../../../parts/states.tsx'
import { Table } from '../../../parts/table.tsx'
import { useZone } from '../../../session.ts'
import { extractorsQuery } from '../parts/queries.ts'
import { useSay } from './say.ts'
import { words } from './words.ts'

export default function Extractors() {
  const t = useWords(words)
  const zone = useZone()
  const [, go] = useLocation()
  const { whenOf, scopeOf } = useSay()
  const list = useQuery(extractorsQuery)
  return (
    <>
      <Title text={t.title} lead={t.lead}>
        <Button kind="primary" needs="admin" onClick={() => go('/extractors/new')}>
          <Plus size={17} aria-hidden="true" />
          {t.create}
        </Button>
      </Title>
      <Loaded query={list} rows={3}>
        {(extractors) =>
          extractors.length === 0 ? (
            <Empty title={t.none} lead={t.noneLead} />
          ) : (
            <Panel flush>
              <Table<Extractor>
                label={t.title}
                rows={extractors}
                keyOf={({ extractor_id }) => extractor_id}
                columns={[
                  {
                    name: t.name,
                    cell: (one) => (
                      <Link href={`/extractors/${one.extractor_id}`}>
                        <b>{one.name}</b>
                      </Link>
                    ),
                  },
                  { name: t.when, cell: whenOf },
                  { name: t.scope, cell: scopeOf },
                  {
                    name: t.state,
                    cell: (one) => <Badge tone={one.is_enabled ? 'good' : 'idle'}>{one.is_enabled ? t.enabled : t.disabled}</Badge>,
                  },
                  { name: t.last, cell: (one) => instant(one.last_run_at, zone) },
                  { name: t.next, cell: (one) => instant(one.next_run_at, zone) },
                ]}
              />
            </Panel>
          )
        }
      </Loaded>
      <Call call="GET /v1/extractors" />
    </>
  )
}

import { useQuery } from '@tanstack/preact-query'
import { standingsQuery } from '../../../api/standings.ts'
import { count } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { ButtonLink } from '../../../parts/button.tsx'
import { Figures, Panel, Title } from '../../../parts/page.tsx'
import { Empty, Failed, Skeleton } from '../../../parts/states.tsx'
import { Table } from '../../../parts/table.tsx'
import { words } from './words.ts'

export default function Rfcs() {
  const t = useWords(words)
  const { data, error, refetch } = useQuery(standingsQuery)
  if (error && !data) return <Failed isPage error={error} retry={refetch} />
  if (!data) return <Skeleton rows={6} />
  return (
    <>
      <Title text={t.title} lead={t.lead}>
        <ButtonLink href="/connect" kind="primary">
          {t.connect}
        </ButtonLink>
      </Title>
      <Figures figures={[{ name: t.all, value: count(data.length) }]} />
      {data.length === 0 ? (
        <Empty title={t.none} lead={t.noneLead} action={{ label: t.connect, href: '/connect' }} />
      ) : (
        <Panel flush>
          <Table
            label={t.title}
            rows={data}
            keyOf={({ entity }) => entity.fiscal_entity_id}
            columns={[
              { name: 'RFC', cell: ({ entity }) => entity.rfc },
              { name: '%', end: true, cell: ({ sync }) => sync && count(sync.percent) },
            ]}
          />
        </Panel>
      )}
    </>
  )
}

import { useQuery } from '@tanstack/preact-query'
import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { coverageQuery } from '../../../api/coverage.ts'
import type { CoverageMonth } from '../../../api/routes.d.ts'
import { Matrix, MatrixKeys, stateOf } from '../../../charts/matrix.tsx'
import { matrixWords } from '../../../charts/matrix-words.ts'
import { count, instant, month as monthName, NOTHING } from '../../../format.ts'
import { language, useWords } from '../../../language.ts'
import { Loaded } from '../../../parts/loaded.tsx'
import { Facts } from '../../../parts/page.tsx'
import { useZone } from '../../../session.ts'
import css from './rfc.module.css'
import { answerInSpanish } from './told.ts'
import { words } from './words.ts'

/** The last day of a month, `2026-02`. */
const lastDay = (month: string): string =>
  new Date(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)), 0)).toISOString().slice(0, 10)

function Month({ one, fiscal_entity_id }: { one: CoverageMonth; fiscal_entity_id: string }) {
  const t = useWords(words)
  const m = useWords(matrixWords)
  const zone = useZone()
  const direction = one.source === 'sat_cfdi_issued' ? 'issued' : 'received'
  const query = new URLSearchParams({ fiscal_entity_id, direction, issued_from: `${one.month}-01`, issued_to: lastDay(one.month) })
  return (
    <div class={css.month} role="status">
      <h3>
        {m.source[one.source]}, {monthName(one.month, 'long')}: {m.state[stateOf(one)]}
      </h3>
      <Facts
        facts={[
          // Nothing was announced while the authority has not answered.
          [t.announced, one.last_success_at === null && one.announced_count === 0 ? NOTHING : count(one.announced_count)],
          [t.held, count(one.held_count)],
          [t.withXml, count(one.with_xml_count)],
          [t.metadata, count(one.metadata_only_count)],
          [t.rejected, count(one.rejected_count)],
          [t.attempts, count(one.attempts)],
          [t.code, one.last_code === null ? NOTHING : language() === 'es' ? answerInSpanish(one.last_code) : one.last_code],
          [t.next, instant(one.next_check_at, zone)],
          [t.last, instant(one.last_success_at, zone)],
        ]}
      />
      <Link href={`/cfdi?${query}`}>{t.monthCfdi}</Link>
    </div>
  )
}

/** The matrix of sources and months; a month that is chosen says what came of it. */
export function Coverage({ fiscal_entity_id }: { fiscal_entity_id: string }) {
  const m = useWords(matrixWords)
  const coverage = useQuery(coverageQuery(fiscal_entity_id))
  const [chosen, choose] = useState<string | null>(null)
  const keyOf = ({ source, month }: CoverageMonth) => `${source} ${month}`
  return (
    <Loaded query={coverage} rows={1}>
      {(months) => {
        const one = months.find((month) => keyOf(month) === chosen) ?? null
        return months.length === 0 ? (
          <p>{m.none}</p>
        ) : (
          <>
            <Matrix months={months} choose={(month) => choose(keyOf(month))} chosen={one} />
            <MatrixKeys />
            {one && <Month one={one} fiscal_entity_id={fiscal_entity_id} />}
          </>
        )
      }}
    </Loaded>
  )
}

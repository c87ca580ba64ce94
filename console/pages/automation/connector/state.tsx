import type { StorageConnector } from '../../../api/routes.d.ts'
import { Progress } from '../../../charts/progress.tsx'
import { count, instant, NOTHING } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Badge } from '../../../parts/badge.tsx'
import { Facts, Figures, Panel } from '../../../parts/page.tsx'
import { useZone } from '../../../session.ts'
import css from '../parts/automation.module.css'
import { useRfcOf } from '../parts/rfcs.tsx'
import { words } from './words.ts'

const TONES = { active: 'good', paused: 'idle', error: 'bad' } as const
const BACKFILL_TONES = { queued: 'wait', running: 'going', paused: 'idle', completed: 'good' } as const

export function ConnectorBadge({ connector: { connector_status: status } }: { connector: StorageConnector }) {
  const t = useWords(words)
  return <Badge tone={TONES[status]}>{t.states[status]}</Badge>
}

function Backfill({ backfill }: { backfill: NonNullable<StorageConnector['backfill']> }) {
  const t = useWords(words)
  const zone = useZone()
  const { status, total, copied, failed, requested_at, completed_at } = backfill
  const text = t.of(count(copied), count(total))
  return (
    <Panel title={t.backfillTitle} actions={<Badge tone={BACKFILL_TONES[status]}>{t.backfillStates[status]}</Badge>}>
      <div class={css.stack} role="status">
        <p>{text}</p>
        <Progress jobs={{ queued: 0, running: 0, waiting: 0, succeeded: copied, failed, total: total ?? 0 }} label={text} />
        <Facts
          facts={[
            [t.refusedCount, count(failed)],
            [t.requested, instant(requested_at, zone)],
            [t.completed, instant(completed_at, zone)],
          ]}
        />
      </div>
    </Panel>
  )
}

/** How copying stands. */
export function State({ connector }: { connector: StorageConnector }) {
  const t = useWords(words)
  const zone = useZone()
  const rfcOf = useRfcOf()
  const { last_error: failure, backfill, scope, config, last_manifest } = connector
  const place = Object.entries(config).filter(([, value]) => value !== null && value !== '')
  return (
    <>
      <Panel actions={<ConnectorBadge connector={connector} />} title={t.state}>
        <div class={css.stack}>
          <Figures
            figures={[
              { name: t.copied, value: count(connector.copied_count) },
              { name: t.pending, value: count(connector.pending_count) },
              { name: t.failed, value: count(connector.failed_count) },
              { name: t.streak, value: count(connector.consecutive_failures) },
            ]}
          />
          {failure && (
            <div class={css.stack}>
              <h3>
                {t.lastError}, {instant(failure.at, zone)}
              </h3>
              <p>{t.errors[failure.code] ?? failure.code}</p>
              <code class={css.wrap}>{failure.message}</code>
            </div>
          )}
          <Facts
            facts={[
              [t.last, instant(connector.last_copied_at, zone)],
              [t.next, instant(connector.next_attempt_at, zone)],
              [t.rfcs, scope.fiscal_entity_ids ? scope.fiscal_entity_ids.map(rfcOf).join(', ') : t.allRfcs],
              [t.kinds, scope.kinds.map((kind) => t.kindNames[kind]).join(', ')],
              ...place.map(([name, value]) => [t.fields[name] ?? name, <span class={css.wrap}>{String(value)}</span>] as const),
              [t.manifest, <small class={css.wrap}>{last_manifest?.path ?? NOTHING}</small>],
            ]}
          />
        </div>
      </Panel>
      {backfill && <Backfill backfill={backfill} />}
      <Panel title={t.paths}>
        <ul class={css.stack}>
          {connector.preview.map((path) => (
            <li key={path}>
              <code class={css.wrap}>{path}</code>
            </li>
          ))}
        </ul>
      </Panel>
    </>
  )
}

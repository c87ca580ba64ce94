import * as z from 'zod'
import { Id, Instant, integerParameter, Paging } from '../../platform/http/shapes.ts'
import { ConnectionStatus, FiscalEntityId } from '../../taxpayers/contract.ts'
import { SYNC_STATES } from './state.ts'

const SyncState = z.enum(SYNC_STATES).meta({
  id: 'SyncState',
  description:
    '`idle`: everything that was asked for has been downloaded. `running`: downloads are queued or running. `waiting`: the tax authority ' +
    'keeps the service waiting, or a download failed and will be tried again; there is nothing to do. `blocked`: somebody has to act, as ' +
    '`summary` says.',
})

const count = (text: string | undefined) => z.int().meta({ description: text })

export const SyncStatus = z
  .strictObject({
    fiscal_entity_id: Id('fe'),
    rfc: z.string().meta({ description: 'The RFC of the fiscal entity.' }),
    name: z
      .string()
      .nullable()
      .meta({ description: 'What the organization calls the connection, as the fiscal entity has it; null without a name.' }),
    taxpayer_name: z
      .string()
      .nullable()
      .meta({
        description:
          'What the taxpayer is called on the newest CFDI that you are shown: of those that it issued, else of those that it received. Null before ' +
          'the first, and while its CFDIs cannot be read.',
      }),
    connection_status: ConnectionStatus.meta({ description: 'The status of the connection.' }),
    state: SyncState,
    status: z.enum(['idle', 'running']).meta({
      description:
        '`running` while at least one job has not ended, whether it waits or not: months of these jobs are `requested` in the coverage, unless ' +
        'they are complete.',
    }),
    error_class: z
      .string()
      .nullable()
      .meta({
        description:
          'Why the last attempt of a waiting or failed job did not succeed, such as `sat_unavailable` during an outage; `invalid_credentials` ' +
          'when the authority refused the login. Null when nothing failed.',
      }),
    attempts: z.int().meta({ description: 'The most attempts of one job that has not ended or has failed; 0 without such a job.' }),
    next_attempt_at: Instant.nullable().meta({
      description:
        'When the service continues the waiting jobs without your action: the next attempt, or the next run; null when no job waits for a set time.',
    }),
    next_run_at: Instant.nullable().meta({
      description: 'When the next scheduled extractor of the organization runs; null without one, and while the connection is not active.',
    }),
    summary: z.string().meta({ description: 'What is going on, why, when it goes on, and what to do, in one or two English sentences.' }),
    message_es: z.string().meta({ description: 'The same in Spanish, with times in the time zone of the organization.' }),
    jobs: z
      .strictObject({
        queued: count('Jobs that begin as soon as a worker is free.'),
        running: count('Jobs that a worker has taken.'),
        waiting: count('Jobs that wait: for the tax authority, after a failed attempt, or for a connection that is active.'),
        succeeded: count('Jobs that ended successfully.'),
        failed: count('Jobs that are not attempted again before another run asks for them.'),
        total: count('All of them.'),
      })
      .meta({
        id: 'SyncJobCounts',
        description: 'Counts the latest job of each data source and month that the organization’s last 60 runs created or joined.',
      }),
    partial_months: count(
      'Number of months, each of a CFDI source, of which not everything is held after their last download: ' +
        '`GET …/coverage` lists them as `partial`, or as `requested` while they are downloaded again. 0 while the connection is not active.',
    ),
    percent: z.int().min(0).max(100).meta({ description: 'Percentage of the jobs that have ended, rounded down; 100 without jobs.' }),
    latest_change_at: Instant.nullable().meta({
      description:
        'When a CFDI that you are shown last appeared or changed, as far as the last downloads tell. Later than your last reading of ' +
        '`GET /v1/cfdi/changes`: read it again. Read it too after you deleted your last extractor or created the first one. Null before.',
    }),
    last_success_at: Instant.nullable().meta({ description: 'When one of the counted jobs last ended successfully; null before.' }),
    last_failure_at: Instant.nullable().meta({ description: 'When one of the counted jobs last failed; null when none has.' }),
    downloaded_to: Instant.nullable().meta({
      description:
        'The instant up to which the downloads of both CFDI sources have succeeded: of each, that of the last of your runs whose downloads of it ' +
        'all did, and the earlier one of both. Null before.',
    }),
  })
  .meta({ id: 'SyncStatus' })
export type SyncStatus = z.infer<typeof SyncStatus>

/** What is asked over all RFCs at once has nothing of their CFDIs. */
export const PortfolioAttention = SyncStatus.omit({ taxpayer_name: true, latest_change_at: true }).meta({ id: 'PortfolioAttention' })
export type PortfolioAttention = z.infer<typeof PortfolioAttention>

export const SyncQuery = z.strictObject({
  ...Paging,
  state: SyncState.optional().meta({ description: 'Lists only the connections in this state.' }),
  fiscal_entity_id: FiscalEntityId.optional(),
})
export type SyncQuery = z.infer<typeof SyncQuery>

export const AttentionQuery = z.strictObject({
  ...Paging,
  limit: integerParameter(1, 500, 500).meta({ description: 'The number of connections that the page looks at.' }),
})
export type AttentionQuery = z.infer<typeof AttentionQuery>

import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { body, idempotent, operation, params, query, refuses, refusesAny, returns } from '../../platform/http/operation.ts'
import { pageOf } from '../../platform/http/shapes.ts'
import {
  Backfill,
  ConnectorChanges,
  ConnectorDraft,
  ConnectorPath,
  ConnectorQuery,
  ConnectorTest,
  RefusedDocument,
  StorageConnector,
} from '../provider-contract.ts'
import {
  type CheckPaid,
  changeConnector,
  createConnector,
  deleteConnector,
  getConnector,
  listConnectors,
  listRefusedDocuments,
  startBackfill,
} from './connectors.ts'
import { testConnector } from './probe.ts'

const TAG = 'Storage connectors'
const NOT_FOUND = 'The storage connector does not exist or belongs to another organization.'
const OVERDUE = 'An invoice is unpaid after its grace period (`billing.overdue`).'

/** The routes of connectors. `checkPaid` refuses an organization with an overdue invoice: billing stands above this domain. */
export const connectorRoutes = (checkPaid: CheckPaid) =>
  new Hono<App>()
    .get(
      '/',
      operation('listStorageConnectors', TAG, 'List the storage connectors, oldest first'),
      query(ConnectorQuery),
      returns(200, pageOf(StorageConnector)),
      async (c) => c.json(await listConnectors(c.var.ctx, c.req.valid('query'))),
    )
    .post(
      '/',
      operation(
        'createStorageConnector',
        TAG,
        'Create a storage connector',
        'From now on, what is downloaded or imported is copied to your storage, out of band, as far as your visibility window shows it. What ' +
          'was there before is copied by `…/backfill`. Try the destination with `…/test`. Nothing is ever deleted at the destination.',
      ),
      body(ConnectorDraft),
      returns(201, StorageConnector),
      refuses(402, OVERDUE),
      refuses(409, 'The organization has as many storage connectors as its plan allows (`storage_connector.plan_limit`).'),
      idempotent(),
      async (c) => c.json(await createConnector(c.var.ctx, c.req.valid('json'), checkPaid), 201),
    )
    .get(
      '/:connector_id',
      operation('getStorageConnector', TAG, 'Get a storage connector'),
      params(ConnectorPath),
      returns(200, StorageConnector),
      refuses(404, NOT_FOUND),
      async (c) => c.json(await getConnector(c.var.ctx, c.req.valid('param').connector_id)),
    )
    .get(
      '/:connector_id/refused-documents',
      operation(
        'listRefusedDocuments',
        TAG,
        'List the documents that the destination refuses',
        'They are quarantined, because the destination takes others. They are tried again daily, and when you set `active`.',
      ),
      params(ConnectorPath),
      query(ConnectorQuery),
      returns(200, pageOf(RefusedDocument)),
      refuses(404, NOT_FOUND),
      async (c) => c.json(await listRefusedDocuments(c.var.ctx, c.req.valid('param').connector_id, c.req.valid('query'))),
    )
    .patch(
      '/:connector_id',
      operation(
        'updateStorageConnector',
        TAG,
        'Update a storage connector',
        'Changes only the members that you send, also within `config` and `scope`. `credentials` are replaced as a whole, and must be sent ' +
          'with another server: another `endpoint` or `account`, or another bucket in its host name. Another place, prefix or template applies to ' +
          'what is copied from then on: nothing is moved, but a backfill that runs begins anew. The manifest of what is in none yet is ' +
          'written to the place that is left: the answer can take 15 seconds. What a narrower scope leaves out is copied no longer. ' +
          'A wider scope applies to what comes from then on, too: `…/backfill` copies the rest. What came while the connector was paused is ' +
          'copied when it is active again. After a pause, or a narrower scope, nothing new is sent after two seconds; what is under way then ' +
          'ends by itself.',
      ),
      params(ConnectorPath),
      body(ConnectorChanges),
      returns(200, StorageConnector),
      refusesAny({
        402: '`connector_status` is `active`, and an invoice is unpaid after its grace period (`billing.overdue`).',
        404: NOT_FOUND,
        409: 'Other requests keep changing the storage connector. Try again.',
      }),
      async (c) => c.json(await changeConnector(c.var.ctx, c.req.valid('param').connector_id, c.req.valid('json'), checkPaid)),
    )
    .delete(
      '/:connector_id',
      operation(
        'deleteStorageConnector',
        TAG,
        'Delete a storage connector',
        'Its credentials are erased at once. Nothing new is sent after two seconds. What was copied stays at the destination.',
      ),
      params(ConnectorPath),
      returns(204, undefined, 'Deleted'),
      refuses(404, NOT_FOUND),
      (c) => deleteConnector(c.var.ctx, c.req.valid('param').connector_id).then(() => c.body(null, 204)),
    )
    .post(
      '/:connector_id/test',
      operation(
        'testStorageConnector',
        TAG,
        'Test a storage connector',
        'Writes a small file below the prefix, reads it back and deletes it, whatever the status of the connector, and changes none.',
      ),
      params(ConnectorPath),
      returns(200, ConnectorTest, 'How each step went, also when one failed'),
      refuses(404, NOT_FOUND),
      refuses(429, 'Your organization tested the destination less than 10 seconds ago (`storage_connector.cooldown`).'),
      idempotent(),
      async (c) => c.json(await testConnector(c.var.ctx, c.req.valid('param').connector_id)),
    )
    .post(
      '/:connector_id/backfill',
      operation(
        'backfillStorageConnector',
        TAG,
        'Copy what is already held',
        'Copies everything that your visibility window shows and the scope includes, under the present template, also what was copied before. ' +
          'While a backfill runs, another request changes nothing; of a connector that is paused or in error it is refused. RFCs whose connection is not active are left out: they are copied once it is ' +
          'active again. See `backfill` of the connector for its progress.',
      ),
      params(ConnectorPath),
      returns(202, Backfill, 'The backfill'),
      refusesAny({
        402: OVERDUE,
        404: NOT_FOUND,
        409: 'The storage connector is not active (`storage_connector.not_active`).',
        429:
          'The last backfill ended a short time ago (`storage_connector.cooldown`): another one waits a second for each ten documents that it ' +
          'copied, at least a minute and at most a day.',
      }),
      idempotent(),
      async (c) => c.json(await startBackfill(c.var.ctx, c.req.valid('param').connector_id, checkPaid), 202),
    )

import { env } from 'cloudflare:workers'
import { expect } from 'vitest'
import { listChanges } from '../../../src/cfdi/changes/changes.ts'
import { type CfdiChange, ChangesQuery } from '../../../src/cfdi/changes/contract.ts'
import { commitChecked } from '../../../src/cfdi/commits.ts'
import type { Cfdi } from '../../../src/cfdi/contract.ts'
import { type IngestTarget, ingestMetadata, replaceDocuments } from '../../../src/cfdi/ingest/ingest.ts'
import { CfdiSearch } from '../../../src/cfdi/search/contract.ts'
import { searchCfdi } from '../../../src/cfdi/search/search.ts'
import { keepCheck } from '../../../src/downloads/status/store.ts'
import type { Ctx } from '../../../src/platform/context.ts'
import { commit } from '../../../src/platform/db/commit.ts'
import { contextOf, FISCAL_ENTITY, reaching } from '../../support/context.ts'
import { grantedRangesOf, type Kept } from '../../support/granted-ranges.ts'
import { all, newBook, reported } from './book.ts'
import { type Plain, packageOf } from './documents.ts'
import { ingestZip } from './ingest-zip.ts'

/** An RFC that others download, an organization that reads it through its windows, and a mirror that is kept by what it is told. */
export class Changing {
  readonly target: IngestTarget = newBook()
  readonly imports: IngestTarget = { ...this.target, entity: -this.target.entity, provenance: 'import', import_id: 'imp_1' }
  readonly runs: { issued: Kept[]; received: Kept[] } = { issued: [], received: [] }
  /** Runs that are noted no more, although the windows stay as they made them. */
  readonly forgotten = new Set<Kept>()
  /** When the last two of them widened the windows. */
  widened: (number | null)[] = []
  extractor_count = 1
  hasImported = false
  state: 'active' | 'paused' = 'active'
  mirror = new Map<string, Cfdi>()
  cursor: string | null = null

  /** The organization as a request finds it. */
  get ctx(): Ctx {
    const reached = (kept: Kept[]) =>
      kept.length === 0 ? null : ([kept.map(([, floor]) => floor).sort()[0]!, Math.max(...kept.map(([at]) => at))] as const)
    const sorted = (kept: Kept[]) => grantedRangesOf(kept.filter((one) => !this.forgotten.has(one)).toSorted(([a], [b]) => a - b))
    return contextOf(
      {
        ...{ entity: this.target.entity, connection: this.target.entity, state: this.state },
        ...(this.state === 'paused' && { paused_by: 'customer' as const }),
        ...reaching(reached(this.runs.issued), reached(this.runs.received)),
        ...{ issued_granted_ranges: sorted(this.runs.issued), received_granted_ranges: sorted(this.runs.received) },
        imported_at: this.hasImported ? 1 : null,
        first_active_at: 1,
      },
      { extractor_count: this.extractor_count },
    )
  }

  /** Widens the windows as a run at an instant does, which is dispatched now. */
  run(floor: string, at: string, directions: readonly ('issued' | 'received')[] = ['issued', 'received']): void {
    for (const direction of directions) this.runs[direction].push([Date.parse(at), floor])
    this.widened = [Date.now(), this.widened[0] ?? null]
  }

  async download(documents: readonly Plain[], cancelled: readonly Plain[] = []): Promise<void> {
    const status = new Map(cancelled.map((one) => [one.uuid, reported(one, true)]))
    await all(ingestZip({ ...this.target, now: new Date() }, packageOf(documents), status))
  }

  /** Metadata of documents, which are cancelled or not. */
  async list(documents: readonly Plain[], isCancelled: boolean, target = this.target): Promise<void> {
    const rows = documents.map((one) => reported(one, isCancelled))
    await all(ingestMetadata({ ...target, now: new Date() }, () => [rows]))
  }

  async import(documents: readonly Plain[]): Promise<void> {
    await all(ingestZip({ ...this.imports, now: new Date() }, packageOf(documents)))
    this.hasImported = true
  }

  /** Deletes what an import brought. */
  async deleteImported(uuids: readonly string[]): Promise<void> {
    const nothing = async () => ({ importSources: new Map(), stored: new Map() })
    await replaceDocuments({ ...this.imports, now: new Date() }, uuids, nothing, () => [])
  }

  async check(uuid: string, estatus: string, entity = this.target.entity, by = FISCAL_ENTITY): Promise<void> {
    const now = Date.now()
    await commit(env.LEDGER_0, [
      keepCheck({ entity, uuid }, by, [now, estatus, null, null, now]),
      commitChecked({ entity, uuid }, [by], now),
    ])
  }

  /** Everything that GET /v1/cfdi lists now. */
  async listed(): Promise<Map<string, Cfdi>> {
    const found = new Map<string, Cfdi>()
    for (let cursor: string | null = null; ; ) {
      const query = CfdiSearch.parse({ fiscal_entity_id: FISCAL_ENTITY, limit: '100', ...(cursor && { cursor }) })
      const page = await searchCfdi(this.ctx, query)
      for (const one of page.data) found.set(one.uuid, one)
      cursor = page.next_cursor
      if (!page.has_more) return found
    }
  }

  /**
   * One answer, from the mirror's cursor on. What is lost is the cursor; while everything is visible, the whole answer, because a client keeps
   * both in one transaction.
   */
  async page(limit = 100, isLost = false): Promise<{ data: CfdiChange[]; has_more: boolean }> {
    const query = ChangesQuery.parse({ fiscal_entity_id: FISCAL_ENTITY, limit: String(limit), ...(this.cursor && { cursor: this.cursor }) })
    const { data, has_more, next_cursor } = await listChanges(this.ctx, query)
    for (const { uuid, cfdi } of isLost && this.extractor_count === 0 ? [] : data) {
      if (cfdi === null) this.mirror.delete(uuid)
      else this.mirror.set(uuid, cfdi)
    }
    if (!isLost) this.cursor = next_cursor
    return { data, has_more }
  }

  /** Everything until nothing is left. */
  async follow(limit = 100): Promise<CfdiChange[]> {
    const changes: CfdiChange[] = []
    for (let pages = 0; ; pages++) {
      const { data, has_more } = await this.page(limit)
      changes.push(...data)
      if (!has_more) return changes
      if (pages > 2_000) throw new Error('The changes do not end.')
    }
  }

  /** Expects the mirror to be what is listed. */
  async expectSame(tale = ''): Promise<void> {
    const listed = await this.listed()
    const sorted = (rows: Map<string, Cfdi>) => Object.fromEntries([...rows].sort(([a], [b]) => (a < b ? -1 : 1)))
    expect(sorted(this.mirror), tale).toEqual(sorted(listed))
  }
}

/** What a change says in a word: its UUID with its reasons. */
export const notified = (changes: readonly CfdiChange[]): Record<string, string> =>
  Object.fromEntries(changes.map(({ uuid, reasons }) => [uuid, reasons.join()]))

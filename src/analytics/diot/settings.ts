import { change } from '../../platform/audit/audit.ts'
import type { Ctx } from '../../platform/context.ts'
import { assertThat, isGuardViolation } from '../../platform/db/guard.ts'
import { readAll, readFirst, readRows } from '../../platform/db/statement.ts'
import { Failure, notFound } from '../../platform/failures.ts'
import { listPage, type Page } from '../../platform/paging/cursor.ts'
import { openLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import type { SupplierUses } from '../vat/store.ts'
import type { DiotSettings, DiotSettingsDraft, DiotSupplier, DiotSupplierDraft, DiotSuppliersQuery } from './contract.ts'
import { NOTHING_SET, type PurchaseUse, type SupplierSettings } from './lines.ts'
import {
  deleteSettings,
  type Filer,
  findSettings,
  findSuppliers,
  hasAtMost,
  hasSettings,
  type SettingsRow,
  writeSettings,
} from './store.ts'

/** What is said of all suppliers of which nothing else is. */
interface FilerSettings {
  /** The taxpayer’s own proportion; null for that of the month. */
  proportion: string | null
  default_use: PurchaseUse | null
}
const NOTHING_SAID: FilerSettings = { proportion: null, default_use: null }

/** The settings of an RFC, with those of each supplier by RFC. */
export interface KnownSettings extends FilerSettings {
  suppliers: ReadonlyMap<string, SupplierSettings>
}

const MOST_SUPPLIERS = 2_000
const FULL = 'diot_settings.full'

function filerOf(ctx: Ctx): Filer {
  const { organization_id, fiscal_entity_id } = openLedger(ctx)
  return { organization_id, fiscal_entity_id }
}

const filerIn = (row: SettingsRow | null | undefined): FilerSettings =>
  row ? { ...NOTHING_SAID, ...(JSON.parse(row.settings) as FilerSettings) } : NOTHING_SAID
const supplierIn = ({ supplier, settings }: SettingsRow): DiotSupplier => ({
  rfc: supplier,
  ...NOTHING_SET,
  ...(JSON.parse(settings) as SupplierSettings),
})

/** Reads what is set for the RFC of the request. One call to the control database. */
export async function readSettings(ctx: Ctx): Promise<KnownSettings> {
  const filer = filerOf(ctx)
  const rows = await readAll<SettingsRow>(ctx.db.$client, [findSettings(filer, ''), findSuppliers(filer, '', MOST_SUPPLIERS)])
  const suppliers = rows.filter(({ supplier }) => supplier !== '').map(supplierIn)
  return {
    ...filerIn(rows.find(({ supplier }) => supplier === '')),
    suppliers: new Map(suppliers.map(({ rfc, ...settings }) => [rfc, settings])),
  }
}

/** The uses of purchases as the VAT position takes them. */
export function usesIn({ default_use, suppliers }: KnownSettings): SupplierUses {
  const meant = { taxed: 'taxed', proportion: 'proportion', exempt: 'exempt', no_object: 'exempt' } as const
  const those = (use: 'taxed' | 'proportion' | 'exempt') =>
    [...suppliers].flatMap(([rfc, one]) => (one.use !== null && meant[one.use] === use ? [rfc] : []))
  return {
    ...{ taxed: those('taxed'), proportion: those('proportion'), exempt: those('exempt') },
    others: default_use === null ? 'proportion' : meant[default_use],
  }
}

/** Returns the proportion, and the use of what suppliers bill of whom nothing else is set. */
export async function getDiotSettings(ctx: Ctx): Promise<DiotSettings> {
  const filer = filerOf(ctx)
  const row = await readFirst(ctx.db.$client, findSettings(filer, ''))
  return { fiscal_entity_id: filer.fiscal_entity_id, ...filerIn(row) }
}

/** Returns a page of the suppliers of which something is set, by RFC. */
export async function listDiotSuppliers(ctx: Ctx, query: DiotSuppliersQuery): Promise<Page<DiotSupplier>> {
  const filer = filerOf(ctx)
  const read = (after = '', limit: number) => readRows<SettingsRow>(ctx.db.$client, findSuppliers(filer, after, limit))
  return listPage(ctx, `diot_suppliers/${filer.fiscal_entity_id}`, query, read, ({ supplier }) => supplier, supplierIn)
}

/** Sets the proportion, and the use of what suppliers bill of whom nothing else is set. */
export async function setDiotSettings(ctx: Ctx, draft: DiotSettingsDraft): Promise<DiotSettings> {
  const filer = filerOf(ctx)
  const { fiscal_entity_id: resource_id } = filer
  const what = { action: 'diot_settings.updated', resource_id, changed: Object.keys(draft) }
  await change(ctx, what, [writeSettings(filer, '', JSON.stringify(draft), ctx.now)])
  return { fiscal_entity_id: resource_id, ...draft }
}

/** Sets what CFDIs cannot tell of a supplier. Throws Failure 409 diot_settings.full. */
export async function setDiotSupplier(ctx: Ctx, rfc: string, draft: DiotSupplierDraft): Promise<DiotSupplier> {
  const filer = filerOf(ctx)
  const what = { action: 'diot_supplier.updated', resource_id: filer.fiscal_entity_id, changed: Object.keys(draft) }
  await change(ctx, what, [
    writeSettings(filer, rfc, JSON.stringify(draft), ctx.now),
    assertThat(hasAtMost(filer, MOST_SUPPLIERS), FULL),
  ]).catch((error: unknown) => {
    if (!isGuardViolation(error, FULL)) throw error
    throw new Failure(
      'conflict',
      'diot_settings.full',
      'Something is set of 2,000 suppliers of the RFC, which are as many as there can be. Delete one first.',
    )
  })
  return { rfc, ...draft }
}

/** Deletes what is set of a supplier. Throws Failure 404 supplier.not_found. */
export async function removeDiotSupplier(ctx: Ctx, rfc: string): Promise<void> {
  const filer = filerOf(ctx)
  const what = { action: 'diot_supplier.deleted', resource_id: filer.fiscal_entity_id }
  await change(ctx, what, [assertThat(hasSettings(filer, rfc), 'diot_supplier.set'), deleteSettings(filer, rfc)]).catch(
    (error: unknown) => {
      throw isGuardViolation(error, 'diot_supplier.set') ? notFound('supplier') : error
    },
  )
}

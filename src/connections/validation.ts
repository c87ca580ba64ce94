import { authorityOf } from '../authority/adapters.ts'
import type { DataSourceKey } from '../authority/port/catalog.ts'
import { refuseUnknownKeys, withMandatory } from '../authority/sources.ts'
import { invalid } from '../failures.ts'
import type { Ctx } from '../platform/context.ts'
import { sealCiec } from '../taxpayers/ciec.ts'

/** Returns the data sources of a request with the mandatory ones; null for the default. Throws Failure 422 data_source.unknown. */
export function checkDataSources(ctx: Ctx, keys: readonly string[] | null | undefined): DataSourceKey[] | null {
  if (keys === null || keys === undefined) return null
  refuseUnknownKeys(keys, 'data_source_keys', authorityOf(ctx).sources)
  return withMandatory(keys as DataSourceKey[])
}

/** Asks the tax authority whether the CIEC is right. Throws Failure 422 fiscal_entity.ciec_rejected, and Unavailable. */
export async function verifyCiec(ctx: Ctx, rfc: string, ciec: string): Promise<void> {
  if (!(await authorityOf(ctx).verify({ rfc, ciec })))
    throw invalid('fiscal_entity.ciec_rejected', [
      { path: 'ciec', message: 'The tax authority rejected this CIEC for the RFC. Nothing was stored. Send the current CIEC.' },
    ])
}

/** The columns of a CIEC that the tax authority accepted now. */
export const ciecColumns = async ({ settings, organization, now }: Ctx, fiscal_entity_id: string, ciec: string) => ({
  ciec: await sealCiec(settings.ciecKeys, { organization_id: organization.id, fiscal_entity_id }, ciec),
  ciec_accepted_at: now,
})

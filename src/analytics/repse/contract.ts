import * as z from 'zod'
import { DataQuality } from '../../cfdi/quality/data-quality.ts'
import { blacklisted } from '../../cfdi/search/contract.ts'
import { Instant, integerParameter } from '../../platform/http/shapes.ts'
import { ofFiscalEntity, requireFiscalEntity } from '../../taxpayers/contract.ts'
import { CfdiWindows, WindowStateName } from '../../taxpayers/visibility/contract.ts'

/** The query of GET /v1/cfdi/repse-suppliers. */
export const SupplierReportQuery = z
  .strictObject({
    ...ofFiscalEntity,
    months: integerParameter(1, 24, 12).meta({
      description: 'Number of calendar months, including the current one in America/Mexico_City.',
    }),
    limit: integerParameter(1, 200, 50).meta({
      description: 'Maximum number of suppliers to list. Counts and amounts cover all suppliers.',
    }),
    blacklist: blacklisted(
      'Only suppliers that are now on one of these lists or in one of these situations, as in `GET /v1/cfdi`: `sat_69b`, `custom:<slug>`, ' +
        '`definitivo`, …, separated by commas. Counts and amounts are of these too.',
    ),
  })
  .superRefine(requireFiscalEntity)
export type SupplierReportQuery = z.infer<typeof SupplierReportQuery>

const money = z.string().meta({ description: 'A decimal amount in MXN.' })

export const SupplierStatus = z.enum(['registered', 'not_registered', 'expired', 'unknown']).meta({ id: 'RepseSupplierStatus' })
export type SupplierStatus = z.infer<typeof SupplierStatus>

const Supplier = z
  .strictObject({
    rfc: z.string(),
    name: z.string().nullable().meta({ description: 'The name on the supplier’s latest CFDI inside the visibility window.' }),
    status: SupplierStatus,
    folio: z.string().nullable(),
    razon_social: z.string().nullable().meta({ description: 'The name as the registry spells it.' }),
    vigencia_hasta: z.iso.date().nullable(),
    days_to_expiry: z.int().nullable(),
    is_stale: z.boolean().meta({ description: 'Whether the registry’s answer is older than a day, or there is none yet.' }),
    checked_at: Instant.nullable().meta({
      description: 'When the registry last answered about the supplier; null when it has not answered yet.',
    }),
    invoice_count: z.int().meta({ description: 'Number of CFDIs of type I.' }),
    total_amount: money,
    drilldown: z.string().meta({ description: 'Path and query of the search that returns exactly the CFDIs that were summed.' }),
  })
  .meta({ id: 'RepseSupplier' })
export type Supplier = z.infer<typeof Supplier>

/** The REPSE supplier report, with the members of every aggregate. */
export const SupplierReport = z
  .strictObject({
    fiscal_entity_id: z.string(),
    from: z.string().meta({ description: 'The first month, `YYYY-MM`.' }),
    to: z.string().meta({ description: 'The last month, `YYYY-MM`.' }),
    currency: z.literal('MXN'),
    basis: z.strictObject({ population: z.string(), amounts: z.string(), currency: z.string(), month: z.string() }),
    windows: CfdiWindows,
    window_state: WindowStateName,
    as_of: z.iso.datetime().meta({
      description: 'The instant up to which the report is complete: the ceiling of the window on received CFDIs, or now without one.',
    }),
    data_quality: DataQuality,
    supplier_count: z.int(),
    registered_count: z.int().meta({ description: 'Number of suppliers with a registration that has not expired.' }),
    not_registered_count: z.int().meta({ description: 'Number of suppliers for which the registry answered that it has no registration.' }),
    expired_count: z.int(),
    unknown_count: z.int().meta({ description: 'Number of suppliers about which the registry has not answered yet.' }),
    monto_total: money,
    monto_no_registrado: money,
    monto_vencido: money,
    monto_sin_verificar: money,
    truncated: z.boolean().meta({ description: 'Whether there are more suppliers than `limit`.' }),
    suppliers: z.array(Supplier).meta({ description: 'Sorted by total_amount, largest first.' }),
  })
  .meta({ id: 'RepseSupplierReport' })
export type SupplierReport = z.infer<typeof SupplierReport>

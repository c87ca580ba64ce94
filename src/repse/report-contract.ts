import * as z from 'zod'
import { Instant, integerParameter } from '../platform/http/shapes.ts'
import { ofFiscalEntity, requireFiscalEntity } from '../taxpayers/contract.ts'

/** The query of GET /v1/cfdi/repse-suppliers. */
export const SupplierReportQuery = z
  .strictObject({
    ...ofFiscalEntity,
    months: integerParameter(1, 24, 12).meta({ description: 'Calendar months, the current one in America/Mexico_City included.' }),
    limit: integerParameter(1, 200, 50).meta({ description: 'Suppliers that are listed. Counts and amounts are of all of them.' }),
  })
  .superRefine(requireFiscalEntity)
export type SupplierReportQuery = z.infer<typeof SupplierReportQuery>

const money = z.string().meta({ description: 'Decimal, MXN.' })

export const SupplierStatus = z.enum(['registered', 'not_registered', 'expired', 'unknown']).meta({ id: 'RepseSupplierStatus' })
export type SupplierStatus = z.infer<typeof SupplierStatus>

const Supplier = z
  .strictObject({
    rfc: z.string(),
    name: z.string().nullable().meta({ description: 'As its latest CFDI that you may see writes it.' }),
    status: SupplierStatus,
    folio: z.string().nullable(),
    razon_social: z.string().nullable().meta({ description: 'As the registry writes it.' }),
    vigencia_hasta: z.iso.date().nullable(),
    days_to_expiry: z.int().nullable(),
    checked_at: Instant.nullable().meta({ description: 'Null when the registry was not asked yet.' }),
    invoice_count: z.int().meta({ description: 'CFDIs of type I.' }),
    total_amount: money,
    drilldown: z.string().meta({ description: 'Path and query of the search that answers the CFDIs that were summed, and no others.' }),
  })
  .meta({ id: 'RepseSupplier' })
export type Supplier = z.infer<typeof Supplier>

/** REPSE supplier report of service.md, with the members of every aggregate (insights.md 8.0). */
export const SupplierReport = z
  .strictObject({
    fiscal_entity_id: z.string(),
    from: z.string().meta({ description: 'First month, YYYY-MM.' }),
    to: z.string(),
    currency: z.literal('MXN'),
    basis: z.strictObject({ population: z.string(), amounts: z.string(), currency: z.string(), month: z.string() }),
    window: z.strictObject({ floor: z.iso.date().nullable(), ceiling: z.iso.datetime().nullable(), is_bounded: z.boolean() }),
    as_of: z.iso.datetime().meta({ description: 'The ceiling; now without one.' }),
    data_quality: z.strictObject({
      cfdi_total: z.int().meta({ description: 'CFDIs that were summed.' }),
      missing_rate: z.int().meta({ description: 'Of those, how many are in no amount because their exchange rate is not known.' }),
    }),
    supplier_count: z.int(),
    registered_count: z.int().meta({ description: 'In the registry, and not expired.' }),
    not_registered_count: z.int().meta({ description: 'The registry was asked and has no such provider.' }),
    expired_count: z.int(),
    unknown_count: z.int().meta({ description: 'The registry has not answered yet. It says nothing about a registration.' }),
    monto_total: money,
    monto_no_registrado: money,
    monto_vencido: money,
    monto_sin_verificar: money,
    truncated: z.boolean().meta({ description: 'There are more suppliers than `limit`.' }),
    suppliers: z.array(Supplier).meta({ description: 'By total_amount, the greatest first.' }),
  })
  .meta({ id: 'RepseSupplierReport' })
export type SupplierReport = z.infer<typeof SupplierReport>

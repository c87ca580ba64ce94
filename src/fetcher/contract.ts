import * as z from 'zod'
import { doc } from '#doc'
import { FETCH_ERRORS } from '../authority/fetcher/states.ts'
import { documented, Instant } from '../platform/http/shapes.ts'

/** The ledger, the fetch and the token of a lease; of a login its connection, the version of the RFC's CIECs, and the end. */
const LEASE = /^(\d{1,4}-\d{1,15}-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|login-\d{1,15}-\d{1,15}-\d{1,15})$/

const LeaseId = z
  .string()
  .regex(LEASE)
  .meta({ description: doc('The lease. Nothing follows from its parts.') })

export const Lease = z
  .strictObject({
    lease_id: LeaseId,
    until: Instant.meta({ description: doc('When the lease runs out, unless it is renewed before.') }),
    task: z.enum(['login', 'month']).meta({
      description: doc(
        '`login`: log in, and say with complete that the portal accepts the CIEC, or with fail that it does not; the lease cannot be renewed. `month`: bring the metadata and the XML of the CFDIs of a source and month.',
      ),
    }),
    rfc: z.string(),
    ciec: z.string().meta({ description: doc('The password of the RFC at the portal. Keep it in memory only, and never log it.') }),
    source: z
      .string()
      .nullable()
      .meta({ description: doc('The data source, such as `sat_cfdi_issued` or `sat_cfdi_received`. Null for `login`.') }),
    month: z
      .string()
      .nullable()
      .meta({ description: doc('The month of the literal Fecha, `YYYY-MM`. Null for `login`.') }),
  })
  .meta({ id: 'Lease' })
export type Lease = z.infer<typeof Lease>

export const LeaseAnswer = z
  .strictObject({ lease: Lease.nullable().meta({ description: doc('Null when there is nothing to do. Ask again in some seconds.') }) })
  .meta({ id: 'LeaseAnswer' })

export const Renewed = z.strictObject({ until: Instant }).meta({ id: 'Renewed' })

export const Empty = z.strictObject({})

export const LeasePath = z.strictObject({ lease_id: LeaseId })

export const PackagePath = z.strictObject({
  lease_id: LeaseId,
  kind: z.enum(['metadata', 'xml']),
  n: documented(z.string().regex(/^\d{1,4}$/), { type: 'integer', minimum: 0, maximum: 9_999 }),
})

export const Completion = z
  .strictObject({
    metadata: z
      .int()
      .min(0)
      .max(10_000)
      .meta({ description: doc('How many packages of metadata were uploaded.') }),
    xml: z
      .int()
      .min(0)
      .max(10_000)
      .meta({ description: doc('How many packages of XML were uploaded.') }),
    is_whole: z
      .boolean()
      .default(true)
      .meta({ description: doc('False when the portal lists documents of the month that could not be brought.') }),
  })
  .meta({ id: 'Completion' })
export type Completion = z.infer<typeof Completion>

export const LOGIN_REJECTED = 'login_rejected'

export const FailureReport = z
  .strictObject({
    error_class: z.enum([LOGIN_REJECTED, ...FETCH_ERRORS]).meta({
      description: doc(
        '`login_rejected`: the portal says that RFC and CIEC do not match; the connections with this CIEC end. `account_locked`, ' +
          '`sat_unavailable` and `rate_limited`: the job is offered again after a wait, twelve times in all. `not_delivered`: the portal will ' +
          'never deliver it; the job fails.',
      ),
    }),
  })
  .meta({ id: 'FailureReport' })
export type FailureReport = z.infer<typeof FailureReport>

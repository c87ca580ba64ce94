import * as z from 'zod'
import { Instant, Paging } from '../../platform/http/shapes.ts'
import { FiscalEntityId } from '../../taxpayers/contract.ts'
import { MONTH_STATUSES } from '../../taxpayers/visibility/coverage.ts'

const Month = z.string().regex(/^2[01]\d\d-(0[1-9]|1[0-2])$/, 'Must be a month, YYYY-MM, from 2000-01 to 2199-12.')

export const COVERED_SOURCES = ['sat_cfdi_issued', 'sat_cfdi_received'] as const
const CoveredSource = z.enum(COVERED_SOURCES)
export type CoveredSource = z.infer<typeof CoveredSource>

export const MonthStatusName = z.enum(MONTH_STATUSES).meta({
  id: 'MonthStatus',
  description:
    '`complete`: your runs asked for the month, and everything that the tax authority announced of it up to your last run is held, with its ' +
    'XML wherever the authority delivers that. A month that has ended stays so while it is downloaded again; the current one does not. `requested`: a job of your runs is queued or ' +
    'running, or waits for the tax authority. `partial`: the last download has ended, and something that the tax authority announces is not ' +
    'held, or its list of documents takes long; the next run of the month asks again. `missing`: no run of yours asked for the month since it was over, or its downloads ' +
    'failed. `unobtainable`: not complete, and all or some of it is older than what the tax authority gives, six years; the sandbox ' +
    'gives everything since January 2018. ' +
    'The data_status of summaries is `downloading` for `requested` and `partial`, and `missing` for `unobtainable`.',
})

const instant = (description: string) => Instant.nullable().meta({ description })

export const CoverageMonth = z
  .strictObject({
    source: CoveredSource,
    month: z.string().meta({ description: 'The month of the literal Fecha, `YYYY-MM`.' }),
    status: MonthStatusName,
    visible_from: z.iso.date().meta({ description: 'The first day of the month that your window shows.' }),
    visible_to: instant('The ceiling of your window when it divides the month; otherwise null.'),
    announced_count: z.int().meta({
      description:
        'Number of documents that the tax authority announces, cancelled ones and retenciones included, as far as your window shows them.',
    }),
    held_count: z.int().meta({
      description:
        'Number of announced documents that the service holds as fully as possible: with XML, or without XML if they are cancelled received documents, which have none.',
    }),
    with_xml_count: z.int().meta({ description: 'Number of those whose XML is held.' }),
    metadata_only_count: z.int().meta({ description: 'Number of those of which only the metadata is held, for whatever reason.' }),
    rejected_count: z.int().meta({
      description:
        'Number of files, and of rows of metadata, that your last job of the month could not keep. The window does not limit it.',
    }),
    last_code: z
      .string()
      .nullable()
      .meta({
        description:
          'The last answer of the tax authority to what your last job of the month needs, as its code and a sentence: `5003: The request ' +
          'matches more documents than one request may. The service divides its period.` `1` and `2` are the states Aceptada and En proceso of a list ' +
          'of documents that takes long. CFDIs and retenciones are asked for apart: the ' +
          'answer is that about those which keep the month from being complete. If the job failed without such a code, its ' +
          'error_class and a sentence. If the authority did as it was asked, and the month is `partial` all the same: `rejected`, ' +
          '`xml_not_delivered_yet` or `incomplete`, and a sentence. Null when there is none of these.',
      }),
    attempts: z.int().meta({
      description: 'How often the last job was attempted, or the tax authority asked for one of its requests, since your run asked for it.',
    }),
    waiting_since: instant(
      'Since when the tax authority is asked for the list of documents (metadata) of the month, if it has taken more than three hours: the XML ' +
        'is then asked for without it, and the month is `partial` until the list comes. Otherwise null.',
    ),
    next_check_at: instant('When the tax authority is asked next about what your last job waits for; null when it waits for nothing.'),
    last_success_at: instant('The instant of the last of your runs whose download of the month was complete.'),
  })
  .meta({ id: 'CoverageMonth' })
export type CoverageMonth = z.infer<typeof CoverageMonth>

export const CoverageQuery = z.strictObject({
  ...Paging,
  source: CoveredSource.optional(),
  from: Month.optional().meta({ description: 'The first month. The default is that of the floor of your window.' }),
  to: Month.optional().meta({ description: 'The last month. The default is that of the ceiling of your window.' }),
})
export type CoverageQuery = z.infer<typeof CoverageQuery>

export const CoveragePath = z.strictObject({ fiscal_entity_id: FiscalEntityId, source: CoveredSource, month: Month })
export type CoveragePath = z.infer<typeof CoveragePath>

export const REASONS = ['xml_not_delivered_yet', 'requested', 'cancelled_received', 'rejected', 'unobtainable'] as const

export const MissingXmlDocument = z
  .strictObject({
    uuid: z.guid().meta({ description: 'In upper case.' }),
    issued_at: Instant.nullable().meta({ description: 'Null for a document of which not even the metadata could be kept.' }),
    estatus: z.enum(['vigente', 'cancelado']).nullable(),
    kind: z.enum(['cfdi', 'retenciones']).nullable(),
    why: z.enum(REASONS).meta({
      description:
        '`xml_not_delivered_yet`: the tax authority announces the document and has not delivered its XML. `requested`: the same, and a job of ' +
        'your runs is open. `cancelled_received`: the tax authority delivers no XML of cancelled received documents. `rejected`: the file, or ' +
        'the row of metadata, could not be kept; `code` says why. `unobtainable`: the document is older than what the tax ' +
        'authority gives.',
    }),
    code: z.string().nullable().meta({ description: 'Why it was rejected, as in rejected_files of the sync job; otherwise null.' }),
  })
  .meta({ id: 'LackingDocument' })
export type MissingXmlDocument = z.infer<typeof MissingXmlDocument>

export const MissingXmlQuery = z.strictObject(Paging)
export type MissingXmlQuery = z.infer<typeof MissingXmlQuery>

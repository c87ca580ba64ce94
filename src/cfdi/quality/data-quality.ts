import * as z from 'zod'
import { DATA_STATUSES, type DataStatus } from '../../taxpayers/visibility/coverage.ts'

/** How completely the documents of a month and direction are known. */
export const DataStatusName = z.enum(DATA_STATUSES).meta({
  id: 'DataStatus',
  description:
    '`complete`: your runs asked for the month, and the tax authority delivered it completely up to your last run, so that zeros are ' +
    'zeros. Documents are stamped up to 72 hours after their Fecha: once your window ends later than that after the end of the month, ' +
    'only a download from then on makes it complete. A month that has ended stays so while it is downloaded again; the current one does not. `downloading`: a job of your ' +
    'runs is queued or running, or the last download did not bring all that the tax authority announces (`requested` and `partial` in ' +
    'the coverage). `missing`: neither, because no run of yours asked for the month, its downloads failed, or it is older than what the ' +
    'tax authority gives (`missing` and `unobtainable`); also of a row outside the window, in which only your imports are counted. ' +
    '`imported`: no run of yours ever asked for anything of the RFC, and all that is known of it are your imports, of which you alone know ' +
    'whether they are complete: figures take them so.',
})

export const MONTHS_MISSING =
  'Months of the range from 2018-01 on that have begun and have the data_status `missing`, for each direction of the answer: the window does ' +
  'not show them, or nobody downloaded them. Their zeros are unknown. Nothing older is downloaded.'

/** How far the figures of an aggregate can be relied upon. */
export const DataQuality = z
  .strictObject({
    cfdi_total: z
      .int()
      .meta({ description: 'Number of documents in the answer. The monthly summary includes cancelled and substituted ones.' }),
    with_xml: z.int().meta({ description: 'Number of those with status vigente whose XML is known.' }),
    missing_rate: z.int().meta({
      description: 'Number of documents with status vigente that are in no amount, because their exchange rate is not known.',
    }),
    not_counted: z.int().meta({
      description:
        'Number of documents with status vigente that are in no amount, because one of theirs in MXN has more than 18 digits before the ' +
        'point.',
    }),
    months_missing: z.int().meta({ description: MONTHS_MISSING }),
    months_downloading: z.int().meta({ description: 'The same of the status `downloading`.' }),
  })
  .meta({ id: 'DataQuality' })

/** Counts the months that are not complete. */
export const incompleteMonths = (statuses: readonly DataStatus[]) => ({
  months_missing: statuses.filter((status) => status === 'missing').length,
  months_downloading: statuses.filter((status) => status === 'downloading').length,
})

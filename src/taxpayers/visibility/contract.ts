import * as z from 'zod'
import { Instant } from '../../platform/http/shapes.ts'
import type { Window, Windows } from './window.ts'

const SourceWindow = z.strictObject({
  visible_from: z.iso.date().nullable().meta({ description: 'Floor: the first visible day of Fecha. Null without one.' }),
  visible_to: Instant.nullable().meta({ description: 'Ceiling: the last visible instant of issued_at. Null without one.' }),
})

/** The windows on the CFDIs of an RFC, by data source. */
export const CfdiWindows = z
  .strictObject({ sat_cfdi_issued: SourceWindow, sat_cfdi_received: SourceWindow })
  .meta({ id: 'CfdiWindows', description: 'The visibility window on the CFDIs of each source.' })
export type CfdiWindows = z.infer<typeof CfdiWindows>

export const WindowStateName = z.enum(['empty', 'bounded', 'open']).meta({
  id: 'WindowState',
  description:
    '`empty`: no extraction has reached any CFDI yet. `bounded`: a floor is later than 2018-01-01, or one source was never extracted. ' +
    '`open`: both floors reach back to 2018-01-01, or your organization has no extractors. It depends on your own runs alone, and no ceiling ' +
    'makes a window bounded. Without extractors `windows` and `visible_from` say what runs reached, ' +
    'and everything that the service has is shown; the first extractor that you create takes away what lies outside the windows.',
})

/** A window in its wire form. */
export const viewWindow = ({ floor, ceiling }: Window): z.infer<typeof SourceWindow> => ({
  visible_from: floor,
  visible_to: ceiling === null ? null : new Date(ceiling).toISOString(),
})

export const viewWindows = ({ issued, received }: Windows): CfdiWindows => ({
  sat_cfdi_issued: viewWindow(issued),
  sat_cfdi_received: viewWindow(received),
})

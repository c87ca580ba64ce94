import { AUTHORITY_ZONE } from '../../authority/port/business-days.ts'
import { type Day, firstInstantOf } from '../../platform/time/calendar.ts'

/** The first instant of sending, in milliseconds, that a floor does not hide; null without a floor. */
export const visibleSince = (floor: Day | null): number | null => (floor === null ? null : firstInstantOf(floor, AUTHORITY_ZONE).getTime())

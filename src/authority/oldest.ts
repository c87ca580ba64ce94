import type { System } from '../platform/context.ts'
import { FIRST_MONTH } from './sandbox/world/places.ts'
import { oldestAt } from './sat/conversation/rules/periods.ts'

/** The first second that an authority gives at an instant in milliseconds: a date and time where it is, without an offset. */
export type OldestAt = (milliseconds: number) => string

const ADAPTERS: Record<System['settings']['taxAuthority'], OldestAt> = {
  sandbox: () => `${FIRST_MONTH}-01T00:00:00`,
  sat: oldestAt,
}

/** How far back the adapter in TAX_AUTHORITY gives documents. */
export const oldestOf = ({ settings }: Pick<System, 'settings'>): OldestAt => ADAPTERS[settings.taxAuthority]

import { ASSUMED, PLATFORM } from './assumptions.ts'
import { SWEEP } from './costs.ts'
import { DOWNLOAD_SECONDS, type Service } from './engine.ts'
import type { Simulation } from './simulation.ts'

/** A limit of the platform, how much of it is used, and with how many RFCs it is met while everything else stays in proportion. */
export interface Limit {
  name: string
  used: number
  limit: number
  unit: 'GB' | 'share' | ''
  /** Null when more databases put it off. */
  rfcs: number | null
  /** When it is used most, or met. */
  at: string
}

type Result = Omit<Simulation, 'limits'>

const HOUR_MS = 3_600_000
/** Bindings that are not databases of fiscal data or of events. */
const OTHER_BINDINGS = 40

const hourOf = (hour: number): string => `day ${Math.floor(hour / 24) + 1}, ${String(hour % 24).padStart(2, '0')}:00 UTC`

/** Every limit, the one that is met with the fewest RFCs first. */
export function limitsOf({ settings, databases }: Result, service: Service): Limit[] {
  const { days, rfcs } = settings
  const { control, ledger, events } = databases
  const end = `day ${days}`
  const kinds = [control, ledger, events]
  const total = (of: 'bytesAtStart' | 'averageBytes'): number =>
    kinds.reduce((all, kind) => all + (of === 'averageBytes' ? kind.count * kind.averageBytes : kind.bytesAtStart), 0)
  const { accountBytes, databaseBytes } = PLATFORM
  const sweepSeconds = (ledger.count * SWEEP.statements * ASSUMED.callMs.value) / 1_000
  const limits: Omit<Limit, 'rfcs'>[] = [
    {
      ...{ name: 'Storage of all databases of an account', used: total('averageBytes'), limit: accountBytes.value, unit: 'GB' },
      at: total('bytesAtStart') >= accountBytes.value ? 'from the start' : end,
    },
    { name: 'Size of the control database', used: control.fullestBytes, limit: databaseBytes.value, unit: 'GB', at: end },
    { name: 'Size of the fullest ledger', used: ledger.fullestBytes, limit: databaseBytes.value, unit: 'GB', at: end },
    { name: 'Size of the fullest database of events', used: events.fullestBytes, limit: databaseBytes.value, unit: 'GB', at: end },
    { name: 'Time of the control database', used: control.busy.most / HOUR_MS, limit: 1, unit: 'share', at: hourOf(control.busy.hour) },
    { name: 'Time of the busiest ledger', used: ledger.busy.most / HOUR_MS, limit: 1, unit: 'share', at: hourOf(ledger.busy.hour) },
    {
      name: 'Time of the busiest database of events',
      used: events.busy.most / HOUR_MS,
      limit: 1,
      unit: 'share',
      at: hourOf(events.busy.hour),
    },
    {
      name: 'Messages a second of a queue',
      used: service.mostMessages / 60,
      limit: PLATFORM.messagesASecond.value,
      unit: '',
      at: 'at midnight',
    },
    {
      ...{ name: 'Consumers that download at once', used: (service.mostDownloads * DOWNLOAD_SECONDS) / 60, unit: '', at: 'at night' },
      limit: PLATFORM.concurrency.value,
    },
    { name: 'Bindings', used: ledger.count + events.count + OTHER_BINDINGS, limit: PLATFORM.bindings.value, unit: '', at: end },
    { name: 'Seconds of the sweep of a minute', used: sweepSeconds, limit: PLATFORM.cronSeconds.value, unit: '', at: 'every minute' },
  ]
  const isSpread = (name: string): boolean => /ledger|of events/.test(name)
  return limits
    .map((limit) => ({ ...limit, rfcs: isSpread(limit.name) ? null : Math.floor((rfcs * limit.limit) / limit.used) }))
    .sort((a, b) => (a.rfcs ?? Number.POSITIVE_INFINITY) - (b.rfcs ?? Number.POSITIVE_INFINITY))
}

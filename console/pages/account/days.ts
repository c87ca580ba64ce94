const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000

const formats = new Map<string, Intl.DateTimeFormat>()

/** What the clocks of a zone show at an instant, as if it were UTC. */
function shownIn(zone: string, at: number): number {
  const known =
    formats.get(zone) ??
    new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      ...({ year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', second: '2-digit' } as const),
    })
  formats.set(zone, known)
  const of = Object.fromEntries(known.formatToParts(at).map(({ type, value }) => [type, Number(value)])) as Record<string, number>
  return Date.UTC(of['year']!, of['month']! - 1, of['day'], of['hour'], of['minute'], of['second'])
}

/** When a day (`2026-05-20`) begins in a zone: the API takes instants, people say days. */
export function startOfDay(day: string, zone: string): string {
  const wanted = Date.parse(`${day}T00:00:00Z`)
  // The offset at noon is that of the day, unless its clocks change before.
  let at = wanted - (shownIn(zone, wanted + DAY_MS / 2) - (wanted + DAY_MS / 2))
  at -= shownIn(zone, at) - wanted
  // Where clocks go back to midnight, the day begins with the first one.
  if (shownIn(zone, at - 1) >= wanted) at -= HOUR_MS
  return new Date(at).toISOString()
}

/** The last instant of a day in a zone. */
export function endOfDay(day: string, zone: string): string {
  const next = new Date(Date.parse(`${day}T00:00:00Z`) + DAY_MS).toISOString().slice(0, 10)
  return new Date(Date.parse(startOfDay(next, zone)) - 1).toISOString()
}

/** The day of an instant in a zone. Empty for what is no instant. */
export function dayIn(instant: string, zone: string): string {
  const at = Date.parse(instant)
  return Number.isNaN(at) ? '' : new Date(shownIn(zone, at)).toISOString().slice(0, 10)
}

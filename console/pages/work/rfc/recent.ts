/** Days that an update reaches back, in whole months: what was stamped lately, and what is changed within its month. */
const RECENT_DAYS = 31
const DAY_MS = 86_400_000

const SOURCES = ['sat_cfdi_issued', 'sat_cfdi_received'] as const

/** What an update downloads of an RFC, of the sources that are enabled for it. */
export const recentRange = (enabled: readonly string[]) => ({
  data_source_keys: SOURCES.filter((key) => enabled.includes(key)),
  from: new Date(Date.now() - RECENT_DAYS * DAY_MS).toISOString().slice(0, 10),
})

/** Days that an update reaches back, in whole months: what was stamped lately, and what is changed within its month. */
const RECENT_DAYS = 31
const DAY_MS = 86_400_000

/** What an update downloads of an RFC. */
export const recentRange = () => ({
  data_source_keys: ['sat_cfdi_issued' as const, 'sat_cfdi_received' as const],
  from: new Date(Date.now() - RECENT_DAYS * DAY_MS).toISOString().slice(0, 10),
})

/** Limits of the platform, as its documentation states them (developers.cloudflare.com, read in 2026). */
export const PLATFORM = {
  databaseBytes: { value: 10e9, means: 'Bytes of a D1 database', source: 'D1 limits' },
  accountBytes: { value: 1e12, means: 'Bytes of all D1 databases of an account; raised on request', source: 'D1 limits' },
  bindings: { value: 5_000, means: 'Bindings of a Worker, about', source: 'D1 limits' },
  statements: { value: 1_000, means: 'D1 statements of an invocation', source: 'D1 limits' },
  messagesASecond: { value: 5_000, means: 'Messages a second of a queue', source: 'Queues limits' },
  concurrency: { value: 250, means: 'Consumers of a queue at once', source: 'Queues limits' },
  cronSeconds: { value: 900, means: 'Seconds of a cron or of a consumer', source: 'Workers limits' },
} as const

/** What the simulation supposes of the customers and of the time that things take. */
export const ASSUMED = {
  historyMonths: { value: 36, means: 'Months of documents that every RFC has at the start' },
  requestsADay: { value: 10, means: 'API requests a day for each RFC' },
  officeShare: { value: 0.9, means: 'Share of the requests that come from 09:00 to 19:00 in Mexico City (15:00 to 01:00 UTC)' },
  listeners: { value: 0.2, means: 'Share of the organizations with an endpoint that hears of every finished job' },
  deliveryBytes: { value: 400, means: 'Bytes of a delivery' },
  monthEnd: { value: 3, means: 'Documents of each of the last three days of a month, and of the 15th, against those of another day' },
  readMs: { value: 1, means: 'Milliseconds of a database for a call that reads (D1: one of 1 ms allows 1,000 a second)' },
  writeMs: { value: 5, means: 'Milliseconds of a database for a call that writes (D1: several)' },
  rowReadMs: { value: 0.001, means: 'Milliseconds of a database for a row that it reads' },
  rowWrittenMs: { value: 0.006, means: 'Milliseconds of a database for a row that it writes' },
  callMs: { value: 10, means: 'Milliseconds for which a Worker waits for a call' },
  authoritySeconds: { value: 3, means: 'Seconds for which an RFC’s downloads of a day wait for the tax authority' },
} as const

/** Documents a month, issued and received together, and the share of the RFCs that have as many: 76 on average. */
export const CLASSES = [
  { share: 0.7, documents: 12 },
  { share: 0.25, documents: 80 },
  { share: 0.045, documents: 500 },
  { share: 0.005, documents: 5_000 },
] as const

/** The time zones of the extractors, per million: what the bench supposes of Mexico City, and the rest over the country’s other zones. */
export const ZONES = [
  { zone: 'America/Mexico_City', share: 0.512395 },
  { zone: 'America/Monterrey', share: 0.15 },
  { zone: 'America/Tijuana', share: 0.08 },
  { zone: 'America/Chihuahua', share: 0.05 },
  { zone: 'America/Cancun', share: 0.045 },
  { zone: 'America/Hermosillo', share: 0.045 },
  { zone: 'America/Merida', share: 0.045 },
  { zone: 'America/Mazatlan', share: 0.04 },
  { zone: 'America/Ciudad_Juarez', share: 0.02 },
  { zone: 'America/Matamoros', share: 0.012605 },
] as const

/** When the scheduled extractors run. An organization has one of them. */
export const CADENCES = [
  { share: 0.9, kind: 'daily', spec: {}, days: 1 },
  { share: 0.07, kind: 'every_n_days', spec: { n: 7 }, days: 7 },
  { share: 0.03, kind: 'nth_weekday_monthly', spec: { weekday: 0, nth: 1 }, days: 30 },
] as const

export const ORGANIZATION_SIZES = [
  { share: 0.6, connections: 1 },
  { share: 0.3, connections: 5 },
  { share: 0.09, connections: 20 },
  { share: 0.01, connections: 110 },
] as const

/** The first day that is simulated. Tijuana changes its clocks within 90 days. */
export const FIRST_DAY = '2027-01-01'

/** The hours, in UTC, in which most requests come. */
export const OFFICE = { from: 15, hours: 10 }

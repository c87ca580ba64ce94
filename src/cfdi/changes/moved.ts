/** Before this year Mexico City, whose zone metadata has, was an hour ahead in summer. */
const DAYLIGHT_SAVING_ENDED = '2023'

/** A document with the instant at which it was as long as only metadata was known, which does not state its zone. */
export const asAnnounced = <Row extends { fecha: string; issued_at: number; utc_offset: number }>(row: Row): Row => ({
  ...row,
  issued_at: row.issued_at + (row.utc_offset + (row.fecha < DAYLIGHT_SAVING_ENDED ? 300 : 360)) * 60,
})

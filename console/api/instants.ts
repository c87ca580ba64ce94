/** Times of the API's Spanish sentences, which are in the zone of the organization, and of its English ones, which are in UTC. */
const LOCAL = /(\d\d)\/(\d\d)\/(\d{4}) a las (\d\d:\d\d)(?: \([\w/+-]+\))?/g
const UTC = /(\d{4}-\d\d-\d\d) (\d\d:\d\d) UTC/g

/** A sentence whose times are said as the pages say theirs. A time may end with the stop that ends the sentence. */
export const withInstants = (text: string, zone: string, say: (iso: string, zone: string) => string): string =>
  text
    .replace(LOCAL, (_, day, month, year, time) => say(`${year}-${month}-${day}T${time}:00Z`, 'UTC'))
    .replace(UTC, (_, day, time) => say(`${day}T${time}:00Z`, zone))
    .replace(/(\b[ap]\.\s?m\.)\.(?=\s|$)/g, '$1')

/** A text whose days, `2026-11-24`, are said as `say` does. */
export const withDays = (text: string, say: (day: string) => string): string => text.replace(/\b\d{4}-\d\d-\d\d\b(?!T)/g, say)

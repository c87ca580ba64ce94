const MONTHS = 'enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre'.split(' ')

/** Lower case, without accents and repeated spaces; ñ stays. */
export const plain = (text: string): string =>
  text
    .normalize('NFD')
    .replace(/[\u0300-\u0302\u0308]/g, '')
    .normalize('NFC')
    .replace(/\s+/g, ' ')
    .trim()
    .toLowerCase()

/** Returns the first date of a text, `10 DE FEBRERO DE 2022` or `10/02/2022`, as `YYYY-MM-DD`; null when there is none that exists. */
export function dateIn(text: string | null): string | null {
  const found = plain(text ?? '')
  const words = /(\d{1,2})\s*(?:de )?([a-z]+) (?:de |del )?(\d{4})/.exec(found)
  const month = words ? MONTHS.indexOf(words[2]!.replace('setiembre', 'septiembre')) + 1 : 0
  const [, day, number, year] =
    words && month > 0 ? ['', words[1]!, String(month), words[3]!] : (/(\d{1,2})\/(\d{1,2})\/(\d{4})/.exec(found) ?? [])
  if (!day || !number || !year) return null
  const date = `${year}-${number.padStart(2, '0')}-${day.padStart(2, '0')}`
  const time = Date.parse(`${date}T00:00:00Z`)
  return Number.isNaN(time) || new Date(time).toISOString().slice(0, 10) !== date ? null : date
}

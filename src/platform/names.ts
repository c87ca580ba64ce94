/** A text of at most this many characters: the beginning of a longer one, with an ellipsis. */
export const clipped = (text: string, most: number): string => (text.length > most ? `${text.slice(0, most - 1).toWellFormed()}…` : text)

const MOST = 64

/** Names are compared without case and separators: `fiscalEntityId` is `fiscal_entity_id`. */
const plain = (name: string): string => name.toLowerCase().replace(/[^a-z\d]/g, '')

/** How many characters must be added, left out or replaced to make one text of another (Levenshtein). */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, n) => n)
  for (const [i, character] of [...one].entries()) {
    const next = [i + 1]
    for (let j = 0; j < other.length; j++) next.push(Math.min(row[j]! + (other[j] === character ? 0 : 1), row[j + 1]! + 1, next[j]! + 1))
    row = next
  }
  return row.at(-1)!
}

/** How far a known name is from one that was written; infinite when hardly anybody meant it. */
function farness(written: string, known: string): number {
  const apart = distance(written, known)
  if (apart <= Math.max(1, Math.floor(written.length / 4))) return apart
  const [short, long] = written.length < known.length ? [written, known] : [known, written]
  return short.length >= 4 && long.startsWith(short) ? apart + MOST : Number.POSITIVE_INFINITY
}

/** The known name that the writer of this one most likely meant; undefined when none is near. */
export function nearest(name: string, known: Iterable<string>): string | undefined {
  const written = plain(name)
  if (written.length < 2 || name.length > MOST) return undefined
  let found: string | undefined
  let least = Number.POSITIVE_INFINITY
  for (const one of known) {
    const far = farness(written, plain(one))
    if (far < least) [found, least] = [one, far]
  }
  return found
}

/** Names the known text that was probably meant by another one, after a space; empty when none is near. */
export function meant(written: unknown, known: readonly unknown[]): string {
  const one = typeof written === 'string' && nearest(written, known.map(String))
  return one ? ` Did you mean ${one}?` : ''
}

/** Members and parameters here, the likeliest first, and their names elsewhere. Their spelling does not show them. */
const MEMBERS: readonly (readonly [here: readonly string[], elsewhere: string])[] = [
  [
    ['from', 'issued_from', 'since'],
    'from since after start startdate startat datefrom fromdate createdfrom desde fechadesde fechainicio fechainicial',
  ],
  [['to', 'issued_to', 'until'], 'to until before end enddate endat dateto todate createdto hasta fechahasta fechafin fechafinal'],
  [['estatus', 'status', 'state'], 'status estado situacion'],
  [['tipo_comprobante', 'kind', 'type'], 'type tipo cfditype documenttype'],
  [['emisor_rfc', 'counterparty_rfc'], 'emisor issuer issuerrfc rfcemisor'],
  [['receptor_rfc', 'counterparty_rfc'], 'receptor receiver receiverrfc rfcreceptor'],
  [['rfc', 'fiscal_entity_id', 'counterparty_rfc'], 'rfc'],
  [['month', 'period', 'from'], 'month period mes'],
  [['year', 'from'], 'year ejercicio anio'],
  [['date', 'as_of', 'from', 'issued_from'], 'date day fecha at'],
  [['currency', 'moneda'], 'currency'],
  [['currency'], 'moneda'],
  [['q'], 'search query text term'],
  [['limit'], 'perpage pagesize size count maxresults top'],
  [['cursor'], 'page offset skip startingafter nextcursor pagetoken'],
  [['sort'], 'order orderby sortby'],
  [['event_keys'], 'events eventtypes enabledevents topics'],
  [['data_source_keys', 'sources'], 'sources datasources'],
  [['rfc_allowance'], 'seats quantity allowance'],
  [['fiscal_entity_id'], 'entity entityid taxpayerid companyid'],
  [['ciec'], 'password'],
]
const USUAL = new Map(MEMBERS.flatMap(([here, elsewhere]) => elsewhere.split(' ').map((name) => [name, here] as const)))

/** Names the known member that was probably meant by another one, after a space; empty when none is usual or near. */
export function meantMember(name: string, known: readonly string[]): string {
  const written = plain(name)
  const usual = USUAL.get(written)?.find((one) => known.includes(one))
  return usual === undefined ? meant(name, known) : ` Did you mean ${usual}?`
}

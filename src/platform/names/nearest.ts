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

const FROM = ['from', 'issued_from', 'since']
const TO = ['to', 'issued_to', 'until']

/** The names of members and parameters elsewhere, with those here, the likeliest first. Their spelling does not show them. */
const USUAL: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(
    [
      'from',
      'since',
      'after',
      'start',
      'startdate',
      'startat',
      'datefrom',
      'fromdate',
      'createdfrom',
      'desde',
      'fechadesde',
      'fechainicio',
      'fechainicial',
    ].map((name) => [name, FROM]),
  ),
  ...Object.fromEntries(
    [
      'to',
      'until',
      'before',
      'end',
      'enddate',
      'endat',
      'dateto',
      'todate',
      'createdto',
      'hasta',
      'fechahasta',
      'fechafin',
      'fechafinal',
    ].map((name) => [name, TO]),
  ),
  ...Object.fromEntries(['status', 'estado', 'situacion'].map((name) => [name, ['estatus', 'status', 'state']])),
  ...Object.fromEntries(['type', 'tipo', 'cfditype', 'documenttype'].map((name) => [name, ['tipo_comprobante', 'kind', 'type']])),
  ...Object.fromEntries(['emisor', 'issuer', 'issuerrfc', 'rfcemisor'].map((name) => [name, ['emisor_rfc', 'counterparty_rfc']])),
  ...Object.fromEntries(['receptor', 'receiver', 'receiverrfc', 'rfcreceptor'].map((name) => [name, ['receptor_rfc', 'counterparty_rfc']])),
  rfc: ['rfc', 'fiscal_entity_id', 'counterparty_rfc'],
  ...Object.fromEntries(['month', 'period', 'mes'].map((name) => [name, ['month', 'period', 'from']])),
  ...Object.fromEntries(['year', 'ejercicio', 'anio'].map((name) => [name, ['year', 'from']])),
  ...Object.fromEntries(['date', 'day', 'fecha', 'at'].map((name) => [name, ['date', 'as_of', 'from', 'issued_from']])),
  currency: ['currency', 'moneda'],
  moneda: ['currency'],
  ...Object.fromEntries(['search', 'query', 'text', 'term'].map((name) => [name, ['q']])),
  ...Object.fromEntries(['perpage', 'pagesize', 'size', 'count', 'maxresults', 'top'].map((name) => [name, ['limit']])),
  ...Object.fromEntries(['page', 'offset', 'skip', 'startingafter', 'nextcursor', 'pagetoken'].map((name) => [name, ['cursor']])),
  ...Object.fromEntries(['order', 'orderby', 'sortby'].map((name) => [name, ['sort']])),
  ...Object.fromEntries(['events', 'eventtypes', 'enabledevents', 'topics'].map((name) => [name, ['event_keys']])),
  ...Object.fromEntries(['sources', 'datasources'].map((name) => [name, ['data_source_keys', 'sources']])),
  ...Object.fromEntries(['seats', 'quantity', 'allowance'].map((name) => [name, ['rfc_allowance']])),
  ...Object.fromEntries(['entity', 'entityid', 'taxpayerid', 'companyid'].map((name) => [name, ['fiscal_entity_id']])),
  password: ['ciec'],
}

/** Names the known member that was probably meant by another one, after a space; empty when none is usual or near. */
export function meantMember(name: string, known: readonly string[]): string {
  const written = plain(name)
  const usual = Object.hasOwn(USUAL, written) ? USUAL[written]!.find((one) => known.includes(one)) : undefined
  return usual === undefined ? meant(name, known) : ` Did you mean ${usual}?`
}

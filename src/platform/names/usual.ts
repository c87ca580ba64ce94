import { meant, plain } from './nearest.ts'

const FROM = ['from', 'issued_from', 'since']
const TO = ['to', 'issued_to', 'until']

/** What members and parameters are called elsewhere, and their names here, the likeliest first. No spelling tells them. */
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
      'fechainicio',
      'fechainicial',
    ].map((name) => [name, FROM]),
  ),
  ...Object.fromEntries(
    ['to', 'until', 'before', 'end', 'enddate', 'endat', 'dateto', 'todate', 'createdto', 'hasta', 'fechafin', 'fechafinal'].map((name) => [
      ...[name, TO],
    ]),
  ),
  status: ['estatus', 'status', 'state'],
  type: ['tipo_comprobante', 'kind', 'type'],
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

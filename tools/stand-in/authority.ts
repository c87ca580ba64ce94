import { randomUUID, type X509Certificate } from 'node:crypto'
import {
  envelope,
  faultAnswer,
  PAGE,
  packageAnswer,
  requestAnswer,
  statusAnswer,
  tokenAnswer,
  verificationAnswer,
} from '../../test/authority/support/sat-answers.ts'
import { attributeOf, named, parsed, verified } from '../../test/authority/support/signatures.ts'
import { type Holder, holderOf } from './certificates.ts'
import { type Entry, Log } from './log.ts'
import { type Behaviour, type DocumentRequest, type Refusal, Requests } from './requests.ts'
import { type FalseAnswer, MESSAGES, type Operation, Script, type Step } from './script.ts'
import { type Family, isCancelled, literalOf, type Source, type Truth } from './truth/truth.ts'

export interface Call {
  method: string
  host: string
  path: string
  /** With names in lower case. */
  headers: Readonly<Record<string, string | undefined>>
  body: string
}

/** An answer: its parts are written one after the other. */
export interface Reply {
  status: number
  type: string
  body: Iterable<string>
  delayMs: number
  /** Before each part. */
  dripMs: number
  /** The connection is closed before the answer, or in the middle of it. */
  closes: 'before' | 'within' | null
}

const HOSTS: Readonly<Record<string, readonly [Family, part: 'requests' | 'packages' | 'status']>> = {
  'cfdidescargamasivasolicitud.clouda.sat.gob.mx': ['cfdi', 'requests'],
  'cfdidescargamasiva.clouda.sat.gob.mx': ['cfdi', 'packages'],
  'retendescargamasivasolicitud.clouda.sat.gob.mx': ['retenciones', 'requests'],
  'retendescargamasiva.clouda.sat.gob.mx': ['retenciones', 'packages'],
  'consultaqr.facturaelectronica.sat.gob.mx': ['cfdi', 'status'],
}
const LOGIN = 'http://DescargaMasivaTerceros.gob.mx/IAutenticacion'
const DOWNLOAD = 'http://DescargaMasivaTerceros.sat.gob.mx'
/** The operations at each path, with their SOAP actions. */
const PATHS: Readonly<Record<string, Readonly<Record<string, Operation>>>> = {
  'requests /Autenticacion/Autenticacion.svc': { [`${LOGIN}/Autentica`]: 'Autentica' },
  'requests /SolicitaDescargaService.svc': Object.fromEntries(
    (['SolicitaDescargaEmitidos', 'SolicitaDescargaRecibidos', 'SolicitaDescargaFolio'] as const).map((operation) => [
      `${DOWNLOAD}/ISolicitaDescargaService/${operation}`,
      operation,
    ]),
  ),
  'requests /VerificaSolicitudDescargaService.svc': {
    [`${DOWNLOAD}/IVerificaSolicitudDescargaService/VerificaSolicitudDescarga`]: 'VerificaSolicitudDescarga',
  },
  'packages /DescargaMasivaService.svc': { [`${DOWNLOAD}/IDescargaMasivaTercerosService/Descargar`]: 'Descargar' },
  'status /ConsultaCFDIService.svc': { 'http://tempuri.org/IConsultaCFDIService/Consulta': 'Consulta' },
}

const SOURCES: Partial<Record<Operation, Source>> = {
  SolicitaDescargaEmitidos: 'sat_cfdi_issued',
  SolicitaDescargaRecibidos: 'sat_cfdi_received',
}

const reply = (body: string | Iterable<string>, more: Partial<Reply> = {}): Reply => ({
  ...{ status: 200, type: 'text/xml; charset=utf-8', delayMs: 0, dripMs: 0, closes: null },
  body: typeof body === 'string' ? [body] : body,
  ...more,
})
const fault = (code: string, text: string): Reply => reply(faultAnswer(code, text), { status: 500 })
const page = (status: number): Reply => reply(PAGE, { status, type: 'text/html' })

/** An answer with what the log says of it. */
type Said = readonly [reply: Reply, logged: string]

/** What stands in for the authority: it verifies everything that it is asked, and answers from its own truth, or as a script says. */
export class Authority {
  readonly truth: Truth
  readonly log = new Log()
  readonly script: Script
  readonly requests: Requests
  readonly behaviour: Behaviour
  readonly #tokens = new Map<string, { rfc: string; family: Family; until: number }>()
  readonly #revoked = new Set<string>()

  constructor(truth: Truth, behaviour: Behaviour, steps: readonly Step[]) {
    this.truth = truth
    this.behaviour = behaviour
    this.script = new Script(steps)
    this.requests = new Requests(truth, behaviour)
  }

  /** Refuses a certificate from now on, by its number. */
  revoke(number: string): void {
    this.#revoked.add(number)
  }

  /** Ends all tokens. */
  expireTokens(): void {
    this.#tokens.clear()
  }

  /** Answers a request, and notes it. */
  answer(call: Call): Reply {
    const at = Date.now()
    const [family, part] = HOSTS[call.host] ?? ['cfdi', null]
    const operations = PATHS[`${part} ${call.path}`]
    const operation = operations?.[(call.headers['soapaction'] ?? '').replaceAll('"', '')] ?? null
    const entry: Entry = { at, host: call.host, operation, family, rfc: '', parameters: {}, period: null, answer: '' }
    const [answered, logged] = this.#answer(call, entry, operations !== undefined)
    this.log.note({ ...entry, answer: logged })
    return answered
  }

  #answer(call: Call, entry: Entry, isService: boolean): Said {
    const { operation, family } = entry
    if (!isService || call.method !== 'POST') return [page(404), 'page 404']
    if (!/^text\/xml\b/.test(call.headers['content-type'] ?? '')) return [page(415), 'page 415']
    if (operation === null) return [fault('ActionNotSupported', 'The message cannot be processed at the receiver.'), 'ActionNotSupported']
    let request: Asking
    try {
      request = read(call.body, operation, this.behaviour.now())
    } catch (error) {
      this.log.violations.push(`${operation}: ${error instanceof Error ? error.message : String(error)}`)
      return operation === 'Autentica' ? insecure() : [refusing(operation, { code: '302' }), '302']
    }
    const { holder, parameters } = request
    entry.rfc = holder?.rfc ?? ''
    entry.parameters = parameters
    const source = SOURCES[operation]
    if (source !== undefined) entry.period = Requests.periodOf(family, operation, parameters)
    const asked = parameters['TipoSolicitud'] as 'CFDI' | 'Metadata' | undefined
    const kind = asked ?? this.requests.find(family, entry.rfc, parameters['IdSolicitud'] ?? '')?.kind
    const instead = this.script.answerTo({ operation, family, rfc: entry.rfc, source, kind })
    if (instead && !instead.isDone) return said(instead, operation) ?? slowed(this.#truly(call, entry, request), instead)
    const truly = this.#truly(call, entry, request)
    return instead ? (said(instead, operation, truly[0]) ?? slowed(truly, instead)) : truly
  }

  /** Does what is asked. */
  #truly(call: Call, entry: Entry, { holder, parameters, expression }: Asking): Said {
    const { operation, family } = entry
    if (operation === 'Consulta') return this.#status(expression)
    const refused = this.#refusal(holder!, parameters, call, entry)
    if (operation === 'Autentica') return refused ? insecure() : this.#token(holder!, family)
    if (refused) return [refusing(operation!, refused), refused.code]
    if (operation === 'Descargar') return this.#package(entry)
    if (operation === 'VerificaSolicitudDescarga') return this.#verification(entry)
    const isUsed = this.behaviour.strict && entry.period !== null && this.log.entries.some(({ period }) => period === entry.period)
    if (isUsed) return [refusing(operation!, { code: '5002' }), '5002']
    const made =
      operation === 'SolicitaDescargaFolio'
        ? this.requests.takeFolio(family, entry.rfc, parameters)
        : this.requests.take(family, SOURCES[operation!]!, entry.rfc, parameters, entry.period!)
    if ('code' in made) return [refusing(operation!, made), made.code]
    const stated = { IdSolicitud: made.id, RfcSolicitante: entry.rfc, CodEstatus: '5000', Mensaje: MESSAGES['5000']! }
    return [reply(requestAnswer(stated, operation!)), '5000']
  }

  #refusal(holder: Holder, parameters: Readonly<Record<string, string>>, call: Call, { operation, family }: Entry): Refusal | null {
    if (holder.isCsd) return { code: '305' }
    if (!holder.isValid || this.#revoked.has(holder.number)) return { code: '304' }
    if (operation === 'Autentica') return null
    const [, token = ''] = /^WRAP access_token="(.*)"$/.exec(call.headers['authorization'] ?? '') ?? []
    const known = this.#tokens.get(token)
    if (known?.family !== family || known.rfc !== holder.rfc || known.until <= this.behaviour.now().getTime()) return { code: '300' }
    return parameters['RfcSolicitante'] === holder.rfc ? null : { code: '303' }
  }

  #token(holder: Holder, family: Family): Said {
    const now = this.behaviour.now().getTime()
    const token = `eyJhbGciOiJodHRw${randomUUID().replaceAll('-', '')}%3d%26wrap_subject%3d${Buffer.from(holder.number).toString('hex')}`
    this.#tokens.set(token, { rfc: holder.rfc, family, until: now + this.behaviour.tokenLifeMs })
    const times = [now, now + 300_000].map((at) => new Date(at).toISOString()) as [string, string]
    return [reply(tokenAnswer(token, times)), 'token']
  }

  #verification({ family, rfc, parameters }: Entry): Said {
    const id = parameters['IdSolicitud'] ?? ''
    const unknown = { CodEstatus: '5004', EstadoSolicitud: '0', CodigoEstadoSolicitud: '', NumeroCFDIs: '0', Mensaje: MESSAGES['5004']! }
    if (!/^[0-9a-f-]{36}$/i.test(id)) return [refusing('VerificaSolicitudDescarga', { code: '301' }), '301']
    const request = this.requests.find(family, rfc, id)
    if (!request) return [reply(verificationAnswer(unknown)), '5004']
    request.checked++
    const [state, code] = this.#stateOf(request)
    const isDone = state === '3'
    const stated = {
      ...{ CodEstatus: '5000', EstadoSolicitud: state, CodigoEstadoSolicitud: code, Mensaje: MESSAGES['5000']! },
      NumeroCFDIs: String(isDone ? request.documents.length : 0),
    }
    return [reply(verificationAnswer(stated, isDone ? request.packages.map((one) => one.id) : [])), `state ${state}`]
  }

  #stateOf(request: DocumentRequest): readonly [state: string, code: string] {
    if (request.checked <= this.behaviour.checks) return [request.checked === 1 ? '1' : '2', '5000']
    if (this.requests.isTooLarge(request)) return ['5', '5003']
    if (request.documents.length === 0) return ['5', '5004']
    return this.requests.isExpired(request) ? ['6', '5000'] : ['3', '5000']
  }

  #package({ family, rfc, parameters }: Entry): Said {
    const found = this.requests.download(family, rfc, parameters['IdPaquete'] ?? '')
    if ('code' in found) return [refusing('Descargar', found), found.code]
    const [before, after] = packageAnswer('|').split('|') as [string, string]
    return [reply(around(before, found, after)), '5000']
  }

  /** What the status service says of a document. Its expression has the parts id, re, rr and tt, and fe unless only metadata is known. */
  #status(expression: string): Said {
    const parts = new URLSearchParams(
      expression
        .slice(expression.indexOf('?') + 1)
        .replace(/&(?!amp;)/g, '\n')
        .replaceAll('&amp;', '%26')
        .replaceAll('\n', '&'),
    )
    const now = literalOf(this.behaviour.now())
    const found = this.truth.documents.find(({ uuid }) => uuid === (parts.get('id') ?? '').toUpperCase())
    const isRight = found && found.stamped <= now && parts.get('re') === found.emisor.rfc && parts.get('rr') === found.receptor.rfc
    if (!isRight || Number(parts.get('tt')) !== Number(found.total)) {
      const absent = {
        CodigoEstatus: 'N - 602: Comprobante no encontrado.',
        EsCancelable: '',
        Estado: 'No Encontrado',
        EstatusCancelacion: '',
      }
      return [reply(statusAnswer(absent)), 'No Encontrado']
    }
    const Estado = isCancelled(found, now) ? 'Cancelado' : 'Vigente'
    const EstatusCancelacion = Estado === 'Cancelado' ? 'Cancelado sin aceptación' : ''
    const stated = { CodigoEstatus: 'S - Comprobante obtenido satisfactoriamente.', EsCancelable: 'Cancelable sin aceptación', Estado }
    return [reply(statusAnswer({ ...stated, EstatusCancelacion, ValidacionEFOS: '200' })), Estado]
  }
}

interface Asking {
  /** Null for the status service, which asks for no signature. */
  holder: Holder | null
  parameters: Readonly<Record<string, string>>
  expression: string
}

/** Reads a request. Throws an error when it is not of its operation, when its times are not now, and unless it is signed well. */
function read(body: string, operation: Operation, now: Date): Asking {
  const root = parsed(body)
  const [content] = named(root, 'Body').flatMap(({ children }) => children.filter((child) => typeof child !== 'string'))
  const expected = operation === 'Descargar' ? 'PeticionDescargaMasivaTercerosEntrada' : operation
  if (content?.local !== expected) throw new Error(`The body has ${content?.local}, not ${expected}.`)
  const textIn = (local: string): string =>
    named(root, local)
      .flatMap(({ children }) => children)
      .join('')
  if (operation === 'Consulta') return { holder: null, parameters: {}, expression: textIn('expresionImpresa') }
  const certificate: X509Certificate = verified(body)
  if (operation === 'Autentica') {
    const [created, expires] = ['Created', 'Expires'].map((name) => Date.parse(textIn(name)))
    if (!(created! <= now.getTime() + 60_000 && now.getTime() < expires!)) throw new Error('The times of the login are not now.')
    return { holder: holderOf(certificate, now), parameters: {}, expression: '' }
  }
  const [asked] = named(content, operation === 'Descargar' ? 'peticionDescarga' : 'solicitud')
  if (!asked || asked.uri !== DOWNLOAD) throw new Error('There is no element with the parameters.')
  const parameters = Object.fromEntries(asked.attributes.map(({ local, value }) => [local, value] as const))
  if (attributeOf(asked, 'RfcSolicitante') === undefined) throw new Error('RfcSolicitante is missing.')
  return { holder: holderOf(certificate, now), parameters, expression: '' }
}

const insecure = (): Said => [fault('InvalidSecurity', 'An error occurred when verifying security for the message.'), 'InvalidSecurity']

/** The answer of an operation that does nothing, with a code. */
function refusing(operation: Operation, { code, message }: Refusal): Reply {
  const stated = { CodEstatus: code, Mensaje: message ?? MESSAGES[code] ?? '' }
  if (operation === 'Descargar') return reply(packageAnswer('', code, stated.Mensaje))
  if (operation === 'VerificaSolicitudDescarga')
    return reply(verificationAnswer({ ...stated, EstadoSolicitud: '0', CodigoEstadoSolicitud: '', NumeroCFDIs: '0' }))
  return reply(operation === 'Autentica' || operation === 'Consulta' ? envelope('') : requestAnswer(stated, operation))
}

/** What a script says in the place of a right answer. Null when that is only to be slow. */
function said(instead: FalseAnswer, operation: Operation, right: Reply = reply(envelope(''))): Said | null {
  const { code, message, state, stateCode, fault: faultCode, page: isPage, truncated, closed, slowMs = 0, status, dripMs } = instead
  const late = (answer: Reply, logged: string): Said => [{ ...answer, delayMs: slowMs }, logged]
  if (closed) return late({ ...right, closes: 'before' }, 'closed')
  if (status !== undefined) return late({ ...right, status }, `status ${status}`)
  if (dripMs !== undefined) return late({ ...right, body: [...right.body].join('').match(/.{1,4}/gs)!, dripMs }, 'dripping')
  if (isPage) return late(page(503), 'page')
  if (faultCode !== undefined) return late(fault(faultCode, 'Something failed.'), faultCode)
  if (truncated) {
    const text = [...right.body].join('')
    const half = reply(text.slice(0, Math.floor(text.length / 2)))
    return late(truncated === 'answer' ? half : { ...half, closes: 'within' }, `truncated ${truncated}`)
  }
  if (state !== undefined) {
    const stated = { CodEstatus: code ?? '5000', EstadoSolicitud: state, CodigoEstadoSolicitud: stateCode ?? '5000', NumeroCFDIs: '0' }
    return late(reply(verificationAnswer({ ...stated, Mensaje: message ?? '' })), `state ${state}${stateCode ? ` ${stateCode}` : ''}`)
  }
  return code === undefined ? null : late(refusing(operation, { code, ...(message !== undefined && { message }) }), code)
}

const slowed = ([answer, logged]: Said, { slowMs = 0 }: FalseAnswer): Said => [{ ...answer, delayMs: slowMs }, logged]

/** A multiple of three, so that the parts are the base64 of the whole. */
const PIECE = 98_304 * 3

function* around(before: string, bytes: Buffer, after: string): Generator<string> {
  yield before
  for (let at = 0; at < bytes.length; at += PIECE) yield bytes.subarray(at, at + PIECE).toString('base64')
  yield after
}

/**
 * The paths under which documents lie at a destination. They are relative to the destination's prefix, and valid at every provider: the
 * rules are those of OneDrive, which are the strictest, and the 1,024 bytes of S3.
 */

/** The parts of a CFDI that paths contain. */
export interface CfdiObject {
  /** The RFC of the fiscal entity. */
  rfc: string
  /** In upper case. */
  uuid: string
  direction: 'issued' | 'received'
  /** The literal local time, `YYYY-MM-DDTHH:mm:ss`. */
  fecha: string
  kind: 'cfdi' | 'retenciones'
  /** Null for retenciones. */
  tipo_comprobante: string | null
  emisor_rfc: string
  receptor_rfc: string
}

/** The parts of another document that paths contain. */
export interface DocumentObject {
  rfc: string
  /** As in the scope of a connector. */
  kind: string
  /** `YYYY-MM-DD`. */
  date: string
  document_id: string
  content_type: string
}

export const DEFAULT_TEMPLATE = '{rfc}/{yyyy}/{mm}/{direction}/{uuid}.xml'

/** RFCs have letters that some providers, and some tools, do not take in a name. No RFC has an underscore. */
const rfcText = (rfc: string): string => (rfc === '' ? '_' : rfc.replaceAll('Ñ', '_N').replaceAll('&', '_Y'))

const typeOf = ({ kind, tipo_comprobante: tipo }: CfdiObject): string =>
  kind === 'retenciones' ? 'R' : /^[IEPNT]$/.test(tipo ?? '') ? tipo! : 'X'

const VARIABLES: Record<string, (cfdi: CfdiObject) => string> = {
  rfc: ({ rfc }) => rfcText(rfc),
  yyyy: ({ fecha }) => fecha.slice(0, 4),
  mm: ({ fecha }) => fecha.slice(5, 7),
  dd: ({ fecha }) => fecha.slice(8, 10),
  direction: ({ direction }) => direction,
  uuid: ({ uuid }) => uuid,
  kind: ({ kind }) => kind,
  tipo: typeOf,
  emisor_rfc: ({ emisor_rfc }) => rfcText(emisor_rfc),
  receptor_rfc: ({ receptor_rfc }) => rfcText(receptor_rfc),
}

const VARIABLE = /\{([^{}]*)\}/g

/** Returns the path of a CFDI. The template has no fault. */
export const pathOf = (template: string, cfdi: CfdiObject): string =>
  template.replace(VARIABLE, (_, name: string) => VARIABLES[name]!(cfdi))

const EXTENSIONS: Record<string, string> = {
  'application/pdf': 'pdf',
  'application/xml': 'xml',
  'text/xml': 'xml',
  'application/json': 'json',
  'text/html': 'html',
  'text/plain': 'txt',
}

/** Returns the path of a document that is not a CFDI. No template of CFDIs makes such a path, because theirs contain a UUID. */
export const documentPathOf = ({ rfc, kind, date, document_id, content_type }: DocumentObject): string =>
  `${rfcText(rfc)}/documents/${kind}/${date}-${document_id}.${EXTENSIONS[content_type.split(';')[0]!.trim().toLowerCase()] ?? 'bin'}`

/** A path as it lies at the destination. */
export const withPrefix = (prefix: string, path: string): string => (prefix === '' ? path : `${prefix}/${path}`)

const MAX_CHARACTERS = 400
const MAX_BYTES = 1_024
const MAX_PART = 250

const CHARACTERS = /^[\p{L}\p{M}\p{Nd} \-_.,()+=@/]*$/u
/** Names of devices in Windows, also before a dot, and names that OneDrive keeps for itself. */
const RESERVED = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)|^\.lock$|^desktop\.ini$|_vti_/i

/** Returns why a provider may refuse a path with its prefix, as the message of a 422; null if none does. */
function pathFault(path: string): string | null {
  if (!CHARACTERS.test(path)) return 'Must contain only letters, digits, spaces and - _ . , ( ) + = @ / outside variables.'
  const parts = path.split('/')
  if (parts.includes('')) return 'Must not begin with a slash, nor contain an empty part.'
  if (parts.some((part) => /^\.+$/.test(part))) return 'Must not contain . or .. as a part.'
  if (parts.some((part) => /^ | $|\.$/.test(part))) return 'Must have no part that begins or ends with a space, or ends with a dot.'
  const reserved = parts.find((part) => RESERVED.test(part)) ?? (/^forms$/i.test(parts[0]!) ? parts[0] : undefined)
  if (reserved !== undefined) return `Must not contain ${reserved}: some providers reserve this name.`
  if (parts.some((part) => part.length > MAX_PART)) return `Must make no part longer than ${MAX_PART} characters.`
  if (path.length > MAX_CHARACTERS || new TextEncoder().encode(path).length > MAX_BYTES)
    return `Must make, with the prefix, no path longer than ${MAX_CHARACTERS} characters or ${MAX_BYTES} bytes.`
  return null
}

/** Returns why this cannot be the prefix of a destination, as the message of a 422; null if it can. */
export const prefixFault = (prefix: string): string | null => (prefix === '' ? null : pathFault(prefix))

/** A CFDI with the longest values of each variable. */
const LONGEST: CfdiObject = {
  rfc: 'ÑÑÑÑ010101AAA',
  uuid: '5B2E1F0A-9C64-4F0E-8B1D-2A7C3D4E5F60',
  direction: 'received',
  fecha: '2026-11-03T10:15:00',
  kind: 'cfdi',
  tipo_comprobante: 'I',
  emisor_rfc: 'ÑÑÑÑ010101AAA',
  receptor_rfc: 'ÑÑÑÑ010101AAA',
}

/** CFDIs whose values can make faults that other values do not. */
const EXTREMES: CfdiObject[] = [
  ...['I', 'E', 'P', 'N', 'T', null].map((tipo_comprobante) => ({ ...LONGEST, tipo_comprobante })),
  { ...LONGEST, kind: 'retenciones', tipo_comprobante: null },
  { ...LONGEST, direction: 'issued', emisor_rfc: '', receptor_rfc: '' },
]

/**
 * Returns why a template cannot be used under a prefix, as the message of a 422; null if it gives every CFDI a path of its own that every
 * provider takes. Only `{rfc}` tells two RFCs of an organization apart: imports can bring both a document of the same UUID and direction.
 */
export function templateFault(template: string, prefix: string): string | null {
  const names = [...template.matchAll(VARIABLE)].map(([, name]) => name!)
  const unknown = names.find((name) => !Object.hasOwn(VARIABLES, name))
  if (unknown !== undefined || /[{}]/.test(template.replace(VARIABLE, '')))
    return `Must contain no other variables than ${Object.keys(VARIABLES)
      .map((name) => `{${name}}`)
      .join(', ')}.`
  if (!names.includes('uuid')) return 'Must contain {uuid}, so that each CFDI has a path of its own.'
  if (!names.includes('rfc')) return 'Must contain {rfc}, because two RFCs of the organization may have a CFDI of the same UUID.'
  const around = /([^/]*)\{uuid\}([^/]*)/.exec(template)!
  if ([around[1]!, around[2]!].every((text) => /\{(?:\w*rfc|direction|kind)\}/.test(text)))
    return 'Must have variables other than {tipo}, {yyyy}, {mm} and {dd} on only one side of {uuid} within that part of the path. This keeps every path unique.'
  if (!template.endsWith('.xml')) return 'Must end in .xml.'
  if (/^manifests\//i.test(template)) return 'Must not begin with manifests/: the manifests lie there.'
  for (const cfdi of EXTREMES) {
    const fault = pathFault(withPrefix(prefix, pathOf(template, cfdi)))
    if (fault !== null) return fault
  }
  return null
}

const SAMPLE = { uuid: LONGEST.uuid, kind: 'cfdi', tipo_comprobante: 'I' } as const
const SAMPLES: CfdiObject[] = [
  {
    ...SAMPLE,
    rfc: 'EKU9003173C9',
    direction: 'issued',
    fecha: '2026-11-03T10:15:00',
    emisor_rfc: 'EKU9003173C9',
    receptor_rfc: 'JES900109Q90',
  },
  {
    ...SAMPLE,
    rfc: 'EKU9003173C9',
    direction: 'received',
    fecha: '2026-10-28T17:40:12',
    emisor_rfc: 'ÑU&800101AB1',
    receptor_rfc: 'EKU9003173C9',
  },
]

/** Returns sample paths with their prefix: of two CFDIs and of a tax status certificate. */
export const previewOf = (template: string, prefix: string): string[] =>
  [
    ...SAMPLES.map((cfdi) => pathOf(template, cfdi)),
    documentPathOf({
      rfc: 'EKU9003173C9',
      kind: 'csf',
      date: '2026-11-05',
      document_id: 'doc_01kabcdefghjkmnpqrstvwxyz0',
      content_type: 'application/pdf',
    }),
  ].map((path) => withPrefix(prefix, path))

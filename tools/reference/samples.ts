import { type Document, isObject, type Json, nameIn, type Operation, operationsOf } from './json.ts'

const ADDRESS = 'https://api.example.com'

/** The value of a parameter in a sample. */
function exampleOf(document: Document, { name, schema }: { name: string; schema: Json }): string {
  const notified = nameIn(schema) ? document.components.schemas[nameIn(schema)!]! : schema
  const [example] = (notified['examples'] ?? notified['enum'] ?? []) as unknown[]
  if (example !== undefined) return String(example)
  if (/fiscal_?entity_?id/i.test(name)) return 'fe_01kabcdefghjkmnpqrstvwxyz0'
  if (name === 'rfc') return 'EKU9003173C9'
  if (name === 'uuid') return '5b0c6a0e-6a8f-4f0e-9d3b-0a6f1c2d3e00'
  if (name === 'from') return '2026-01'
  if (name === 'to') return '2026-05'
  return `{${name}}`
}

interface Call {
  method: string
  url: string
  isPublic: boolean
  isKeyed: boolean
  json: unknown
  upload: string | undefined
  accept: string | undefined
}

function callOf(document: Document, path: string, method: string, operation: Operation): Call {
  const { parameters = [], requestBody, security, responses } = operation
  const filled = parameters
    .filter((one) => one.in === 'path')
    .reduce(
      (url, one) =>
        url.replace(
          `{${one.name}}`,
          encodeURIComponent(exampleOf(document, one)).replaceAll(/%7B|%7D/g, (brace) => (brace === '%7B' ? '{' : '}')),
        ),
      path,
    )
  // A fiscal entity may be named in two ways, of which one is needed.
  const query = parameters.filter((one) => one.in === 'query' && (one.required || one.name === 'fiscal_entity_id'))
  const search = query.map((one) => `${one.name}=${exampleOf(document, one)}`).join('&')
  const [type] = Object.keys(requestBody?.content ?? {})
  const answered = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1].content ?? {}
  return {
    method: method.toUpperCase(),
    url: `${ADDRESS}${filled}${search && `?${search}`}`,
    isPublic: Array.isArray(security) && security.length === 0,
    isKeyed: parameters.some(({ name }) => name === 'Idempotency-Key'),
    json: type === 'application/json' ? (requestBody!.content[type]!['example'] ?? {}) : undefined,
    upload: type && type !== 'application/json' ? type : undefined,
    accept: Object.keys(answered).find((one) => one === 'application/json'),
  }
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

function curl({ method, url, isPublic, isKeyed, json, upload }: Call): string {
  const parts = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}${quoted(url)}`,
    ...(isPublic ? [] : ['-u "$API_KEY:$API_SECRET"']),
    ...(isKeyed ? ['-H "Idempotency-Key: $(uuidgen)"'] : []),
    ...(json === undefined ? [] : ["-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(json, null, 2))}`]),
    ...(upload ? [`-H 'Content-Type: ${upload}'`, '--data-binary @file'] : []),
  ]
  return parts.join(' \\\n  ')
}

const indented = (text: string, by: string): string => text.replaceAll('\n', `\n${by}`)

/** JSON as an object literal of TypeScript. */
const literal = (value: unknown): string => JSON.stringify(value, null, 2).replaceAll(/"([A-Za-z_]\w*)":/g, '$1:')

function typescript({ method, url, isPublic, isKeyed, json, upload, accept }: Call): string {
  const headers = [
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is a template of the sample.
    ...(isPublic ? [] : ['Authorization: `Bearer ${process.env.API_SECRET}`,']),
    ...(isKeyed ? ["'Idempotency-Key': crypto.randomUUID(),"] : []),
    ...(json === undefined ? [] : ["'Content-Type': 'application/json',"]),
    ...(upload ? [`'Content-Type': '${upload}',`] : []),
  ]
  const init = [
    ...(method === 'GET' ? [] : [`method: '${method}',`]),
    ...(headers.length > 0 ? [`headers: {\n    ${headers.join('\n    ')}\n  },`] : []),
    ...(json === undefined ? [] : [`body: JSON.stringify(${indented(literal(json), '  ')}),`]),
    ...(upload ? ['body: file,'] : []),
  ]
  return [
    `const response = await fetch('${url}'${init.length > 0 ? `, {\n  ${init.join('\n  ')}\n}` : ''})`,
    'if (!response.ok) throw new Error(await response.text())',
    ...(accept ? ['const answer = await response.json()'] : []),
  ].join('\n')
}

/** JSON as a literal of Python. */
function python(value: unknown, indent = ''): string {
  if (value === null) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  const deeper = `${indent}    `
  if (Array.isArray(value))
    return value.length === 0 ? '[]' : `[\n${value.map((one) => `${deeper}${python(one, deeper)},\n`).join('')}${indent}]`
  if (isObject(value)) {
    const entries = Object.entries(value).map(([key, one]) => `${deeper}${JSON.stringify(key)}: ${python(one, deeper)},\n`)
    return entries.length === 0 ? '{}' : `{\n${entries.join('')}${indent}}`
  }
  return JSON.stringify(value)
}

function requests({ method, url, isPublic, isKeyed, json, upload, accept }: Call): string {
  const headers = [...(isKeyed ? ['"Idempotency-Key": str(uuid.uuid4())'] : []), ...(upload ? [`"Content-Type": "${upload}"`] : [])]
  const passed = [
    `"${url}"`,
    ...(isPublic ? [] : ['auth=(os.environ["API_KEY"], os.environ["API_SECRET"])']),
    ...(headers.length > 0 ? [`headers={${headers.join(', ')}}`] : []),
    ...(json === undefined ? [] : [`json=${python(json, '    ')}`]),
    ...(upload ? ['data=open("file", "rb")'] : []),
  ]
  const imports = [...(isPublic ? [] : ['import os']), ...(isKeyed ? ['import uuid'] : []), 'import requests']
  return [
    ...imports,
    '',
    `response = requests.${method.toLowerCase()}(\n${passed.map((one) => `    ${one},\n`).join('')})`,
    'response.raise_for_status()',
    ...(accept ? ['answer = response.json()'] : []),
  ].join('\n')
}

/** Shows how each operation is called: in curl, TypeScript and Python. */
export function addSamples(document: Document): Document {
  for (const { path, method, operation } of operationsOf(document)) {
    const call = callOf(document, path, method, operation)
    operation['x-codeSamples'] = [
      { lang: 'Shell', label: 'curl', source: curl(call) },
      { lang: 'TypeScript', label: 'TypeScript', source: typescript(call) },
      { lang: 'Python', label: 'Python', source: requests(call) },
    ]
  }
  return document
}

import { type Document, operationsOf } from './json.ts'

interface Section {
  name: string
  /** What the routes' own tags are that belong to it. */
  of: readonly string[]
  /** Operations that belong to it whatever their tag is. */
  operations?: readonly string[]
  introduction: string
}

/** The sections of the reference, in the order in which an integration needs them. */
export const SECTIONS: readonly Section[] = [
  {
    name: 'Start',
    of: ['Service', 'Sign-up'],
    introduction:
      'Sign up, keep the `api_secret`, and send it with every request: `Authorization: Basic base64(api_key:api_secret)`, or as a Bearer ' +
      'token. The guide [Your first hour](/docs/first-hour) goes from here to the first CFDI.',
  },
  {
    name: 'Connect',
    of: ['Fiscal entities', 'Data sources', 'Connect links'],
    introduction:
      'A fiscal entity is your connection to an RFC. Connect it with its CIEC or e.firma; from then on the service downloads what your ' +
      'extractors ask for. What you may read is decided by [windows](/docs/windows).',
  },
  {
    name: 'Mirror',
    of: ['Extractors', 'Extractions', 'Downloads', 'Imports', 'Storage connectors', 'Exports', 'Sync', 'Runs', 'Changes'],
    operations: ['listCfdiChanges'],
    introduction:
      'Say what is downloaded and when, see how far the downloads are, and keep a copy of your own: by following the changes, or in your ' +
      'storage. The guide [Mirroring](/docs/mirroring) shows the loop.',
  },
  {
    name: 'Read',
    of: ['CFDI', 'Documents', 'Tax mailbox', 'Insight', 'Reports', 'Analytics'],
    introduction:
      'Search CFDIs, read their details and XML, tax documents and notifications, and what is computed of them. Amounts are decimal ' +
      'strings, lists have pages with cursors, and every figure says what it was computed of.',
  },
  {
    name: 'Webhooks',
    of: ['Webhooks', 'Events', 'Alerts'],
    introduction:
      'Have events sent to you, or read them as a feed. Deliveries are signed and repeated until they are taken; the guide ' +
      '[Webhooks](/docs/webhooks) shows how to verify one.',
  },
  {
    name: 'Suppliers',
    of: ['REPSE'],
    introduction: 'Whether the suppliers of an RFC have a valid registration as providers of specialized services (REPSE).',
  },
  {
    name: 'Lists',
    of: ['Blacklists'],
    introduction:
      'Look RFCs up on the lists of the tax authority, such as that of article 69-B, and on lists of your own, today or as of a day.',
  },
  {
    name: 'Team',
    of: ['Organization', 'Team', 'Credentials', 'Audit'],
    introduction: 'The organization, its members with their roles, its credentials, and the log of everything that was changed.',
  },
  { name: 'Billing', of: ['Billing'], introduction: 'The plan with its limits, the seats for RFCs, and the invoices.' },
  {
    name: 'Sandbox',
    of: ['Sandbox'],
    introduction:
      'Helpers that make things happen which otherwise take days: a cancellation, an expired login, a notification. They exist in the ' +
      'sandbox only; see [Sandbox](/docs/sandbox) for the logins that it accepts.',
  },
]

export const sectionOf = (tag: string, operationId: string): string =>
  (SECTIONS.find(({ operations }) => operations?.includes(operationId)) ?? SECTIONS.find(({ of }) => of.includes(tag)))?.name ?? tag

/** Puts the operations under their sections, in the order of use. */
export function divideIntoSections(document: Document): Document {
  for (const { operation } of operationsOf(document)) operation.tags = [sectionOf(operation.tags[0]!, operation.operationId)]
  for (const { post } of Object.values(document.webhooks)) post.tags = ['Webhooks']
  const used = new Set(operationsOf(document).map(({ operation }) => operation.tags[0]))
  const rank = (name: string): number => SECTIONS.findIndex((section) => section.name === name)
  const first = (path: string): number => Math.min(...Object.values(document.paths[path]!).map(({ tags }) => rank(tags[0]!)))
  // A sort keeps the order of what is equal.
  document.paths = Object.fromEntries(
    Object.keys(document.paths)
      .sort((one, other) => first(one) - first(other))
      .map((path) => [path, document.paths[path]!]),
  )
  document['tags'] = SECTIONS.filter(({ name }) => used.has(name)).map(({ name, introduction }) => ({ name, description: introduction }))
  return document
}

import type { Recordings } from '../recordings.ts'
import { type ErrorCode, errorCodes } from './codes.ts'
import { remedyOf } from './remedies.ts'

const INTRODUCTION = `# Errors

Every error has the same form:

\`\`\`json
{
  "detail": "from: Must be a month, YYYY-MM.",
  "code": "request.invalid",
  "errors": [{ "path": "from", "message": "Must be a month, YYYY-MM." }],
  "request_id": "req_0123456789abcdef0123456789abcdef"
}
\`\`\`

- Decide by **\`code\`**: it never changes. New codes can come; treat one that you do not know as its status says.
- **\`detail\`** is for people: what is wrong, where, and what to do. On 429 it is an object with \`message\` and \`retry_after_seconds\`.
- **\`errors\`**, with 422, names every fault at once.
- A malformed identifier in the **path** is 400 \`request.malformed_id\`, before anything is looked up; in the query or the body it is a fault like others, 422.
- **\`request_id\`** is what to tell us when you ask about an error.

| status | send it again? |
|---|---|
| 400, 413, 415, 422 | not before the request is mended |
| 401, 403 | with another credential |
| 402 | after paying |
| 404 | when it exists |
| 409 | when the state is another one; at once when the code ends in \`.changed\` or is \`idempotency.in_flight\` |
| 429, 503 | after \`Retry-After\` |
| 500, or no answer | with the same \`Idempotency-Key\`, with growing waits |
`

const TITLES: Record<string, string> = {
  request: 'Any request',
  credential: 'Credentials',
  idempotency: 'Idempotency-Key',
  authority: 'Tax authority',
  fiscal_entity: 'Fiscal entities',
  cfdi: 'CFDIs',
  efirma: 'e.firma',
  ciec: 'CIEC',
}

const words = (noun: string): string => TITLES[noun] ?? `${noun[0]!.toUpperCase()}${noun.slice(1).replaceAll('_', ' ')}`

/** Text in a cell of a table of Markdown. */
const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll(/\s+/g, ' ').replaceAll('<', '&lt;')

const FIRST = ['request', 'credential', 'idempotency', 'authority', 'fiscal_entity', 'ciec', 'efirma', 'cfdi']

/** The page of errors, in Markdown: every code, its cause, and what to do. */
export function errorsPage(recordings: Recordings): string {
  const nounOf = ({ code }: ErrorCode): string => (code.includes('.') ? code.split('.')[0]! : 'request')
  const groups = Object.entries(Object.groupBy(errorCodes(recordings), nounOf))
  const rank = (noun: string): number => (FIRST.includes(noun) ? FIRST.indexOf(noun) : FIRST.length)
  const sections = groups
    .sort(([one], [other]) => rank(one) - rank(other))
    .map(([noun, codes]) => {
      const rows = codes!.map(
        ({ code, status, cause }) => `| \`${code}\` | ${status} | ${cell(cause || '–')} | ${cell(remedyOf(code, status))} |`,
      )
      return `## ${words(noun)}\n\n| code | status | cause | what to do |\n|---|---|---|---|\n${rows.join('\n')}\n`
    })
  return `${INTRODUCTION}\n${sections.join('\n')}`
}

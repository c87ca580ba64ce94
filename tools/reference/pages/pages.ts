import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { marked } from 'marked'
import { ROOT } from '../../../scripts/wrangler.ts'
import { limitsOf, QUOTAS } from '../../../src/accounts/plans/quotas.ts'
import { type Document, operationsOf } from '../json.ts'
import type { Recordings } from '../recordings.ts'
import { deliveryExample } from './delivery.ts'
import { errorsPage } from './errors.ts'

/** The guides, in the order in which they are read: their addresses under /docs, and their names in the menu. */
export const GUIDES: readonly (readonly [name: string, title: string])[] = [
  ['first-hour', 'Your first hour'],
  ['mirroring', 'Mirroring'],
  ['webhooks', 'Webhooks'],
  ['windows', 'Windows'],
  ['errors', 'Errors'],
  ['limits', 'Limits'],
  ['credentials', 'Credentials'],
  ['exports', 'Exports'],
  ['codes', 'Codes'],
  ['sandbox', 'Sandbox'],
]

/** The page of the repository, whose links to other pages lead to their addresses under /docs. */
const writtenOf = (name: string): string =>
  readFileSync(join(ROOT, `docs/${name}.md`), 'utf8')
    .replaceAll('](../assets/docs/', '](/docs/')
    .replaceAll(/\]\(([\w-]+)\.md(#[\w-]+)?\)/g, (_, page: string, anchor = '') => {
      if (!GUIDES.some(([one]) => one === page)) throw new Error(`docs/${name}.md links to docs/${page}.md, which is not served.`)
      return `](/docs/${page}${anchor})`
    })

const PLANS = ['diagnostic', 'starter', 'api', 'enterprise_bronze'] as const
const PLAN_NAMES = {
  diagnostic: '`diagnostic` (the trial)',
  starter: '`starter`',
  api: '`api`',
  enterprise_bronze: '`enterprise_bronze`, `_silver`, `_gold`',
}

const quantity = (key: string, limit: number | null): string => {
  if (limit === null) return 'no limit'
  return key.includes('bytes')
    ? `${limit >= 1024 ** 3 ? `${limit / 1024 ** 3} GiB` : `${limit / 1024 ** 2} MiB`}`
    : limit.toLocaleString('en')
}

/** What the plans of today allow, as a table of Markdown. */
function plansTable(): string {
  const limits = PLANS.map((plan) => limitsOf(plan, '9999-12-31'))
  const rows = QUOTAS.map((key) => `| ${key.replaceAll('_', ' ')} | ${limits.map((of) => quantity(key, of[key])).join(' | ')} |`)
  return `| limit | ${PLANS.map((plan) => PLAN_NAMES[plan]).join(' | ')} |\n|---|${PLANS.map(() => '---').join('|')}|\n${rows.join('\n')}`
}

/** What helpers are sent; those that are not here take no body. `test/reference` holds them against the contracts. */
export const BODIES: Record<string, object> = {
  moveClock: { advance: 'P3D' },
  arrangeOrganization: { plan: 'api', rfc_allowance: 50 },
  cancelAtAuthority: { fiscal_entity_id: 'fe_…', cancellation_reason: '02' },
  failSyncJob: { fiscal_entity_id: 'fe_…', error_class: 'sat_unavailable' },
  publishAtRegistry: { rfc: 'EKU9003173C9', is_registered: true, folio: 'AR1234/2026', vigencia_hasta: '2029-12-31' },
  publishOnBlacklist: { rfc: 'EKU9003173C9', source: 'sat_69b', situacion: 'definitivo' },
  sendToMailbox: { fiscal_entity_id: 'fe_…', kind: 'requerimiento' },
  arrangeInvoice: { due_date: '2026-01-31', amount: '1160.00' },
}

function helpersTable(document: Document): string {
  const helpers = operationsOf(document).filter(({ operation }) => operation.tags[0] === 'Sandbox')
  const rows = helpers.map(({ method, path, operation }) => {
    const body = BODIES[operation.operationId as string]
    const shown = body ? `\`${JSON.stringify(body, null, 1).replaceAll(/\n */g, ' ')}\`` : 'none'
    return `| \`${method.toUpperCase()} ${path}\` | ${operation.summary} | ${shown} |`
  })
  return `| request | what it does | body |\n|---|---|---|\n${rows.join('\n')}`
}

const slug = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')

/** Tables scroll on their own, so that a page never does sideways, and headings can be linked. */
function htmlOf(markdown: string): { html: string; headings: string[] } {
  const headings: string[] = []
  const html = (marked.parse(markdown, { async: false }) as string)
    .replaceAll('<table>', '<div class="table"><table>')
    .replaceAll('</table>', '</table></div>')
    .replaceAll(/<h2>(.*?)<\/h2>/g, (_, text: string) => {
      headings.push(text)
      return `<h2 id="${slug(text)}"><a href="#${slug(text)}">${text}</a></h2>`
    })
    .replaceAll(/<td><code>([\w.]+)<\/code><\/td>\s*<td>(\d{3})<\/td>/g, '<td id="$1"><code>$1</code></td>\n<td>$2</td>')
  return { html, headings }
}

function pageOf(name: string, title: string, markdown: string): string {
  const { html, headings } = htmlOf(markdown)
  const menu = GUIDES.map(([one, text]) => `<li><a href="/docs/${one}"${one === name ? ' aria-current="page"' : ''}>${text}</a></li>`).join(
    '\n',
  )
  const contents =
    headings.length > 2
      ? `<ul class="contents">${headings.map((text) => `<li><a href="#${slug(text)}">${text}</a></li>`).join('')}</ul>`
      : ''
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Fiscal Data Service</title>
<link rel="icon" href="/docs/favicon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/docs/guides.css">
</head>
<body>
<nav aria-label="Guides">
<a class="home" href="/docs/first-hour">Fiscal Data Service</a>
<ul>
${menu}
<li><a href="/docs">API reference</a></li>
</ul>
</nav>
<main>
${contents}
${html}</main>
</body>
</html>
`
}

/** The guides as pages: their paths in the repository, and their texts. */
export async function guidePages(document: Document, recordings: Recordings): Promise<[file: string, text: string][]> {
  const delivery = await deliveryExample()
  return GUIDES.map(([name, title]) => {
    const written = name === 'errors' ? errorsPage(recordings) : writtenOf(name)
    const markdown = written
      .replace('<!-- plans -->', plansTable)
      .replace('<!-- helpers -->', () => helpersTable(document))
      .replace('<!-- delivery -->', () => delivery)
    return [join(ROOT, `assets/docs/${name}.html`), pageOf(name, title, markdown)]
  })
}

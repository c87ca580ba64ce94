import { Refused } from '../../../api/client.ts'
import type { Problem } from '../../../api/routes.d.ts'

/** The address of the next page, as the API says it. */
const nextOf = (link: string | null): string | null => /<([^>]+)>;\s*rel="next"/.exec(link ?? '')?.[1] ?? null

/** All pages of a report as one table. The heading of each page but the first is left out. */
export async function readCsv(path: string): Promise<string> {
  const pages: string[] = []
  for (let next: string | null = path; next !== null; ) {
    const response: Response = await fetch(new URL(next, location.origin).toString(), { headers: { accept: 'text/csv' } }).catch(() => {
      throw new Refused(0)
    })
    if (!response.ok) {
      const problem = (await response.json().catch(() => null)) as Problem | null
      throw new Refused(response.status, problem, response.headers.get('retry-after'))
    }
    const text = await response.text()
    pages.push(pages.length === 0 ? text : text.slice(text.indexOf('\n') + 1))
    next = nextOf(response.headers.get('link'))
  }
  return pages.join('')
}

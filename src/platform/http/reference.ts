import type { Context } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { App } from '../context.ts'
import { unknownPath } from './problem.ts'

/** The only files of `assets` that are served, beside the page itself. */
const VIEWER = new Map([
  ['start.js', 'text/javascript; charset=utf-8'],
  ['swagger-ui.css', 'text/css; charset=utf-8'],
  ['swagger-ui-bundle.js', 'text/javascript; charset=utf-8'],
  ['favicon-32x32.png', 'image/png'],
])

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ')

const CACHED = { 'Cache-Control': 'public, max-age=3600' }

/** Answers with the API reference page, which loads nothing from other hosts. */
export const referencePage = (c: Context<App>): Promise<Response> =>
  asset(c, 'reference.html', 'text/html; charset=UTF-8', { 'Content-Security-Policy': POLICY })

/** Answers with the text for language models, which `npm run openapi` wrote. */
export const llmsPage = (c: Context<App>): Promise<Response> => asset(c, 'llms.txt', 'text/plain; charset=utf-8')

/** Answers with one of the page's files. Throws Failure 404 for any other name. */
export function referenceFile(c: Context<App>, file: string): Promise<Response> {
  const type = VIEWER.get(file)
  if (!type) throw unknownPath()
  return asset(c, file, type)
}

/** Answers with the OpenAPI document of this environment, which `npm run openapi` wrote. */
export async function openApi(c: Context<App>): Promise<Response> {
  const document = await fetched(c, `openapi.${c.var.system.settings.environment}.json`)
  return c.json(await document.json(), 200, { 'Cache-Control': 'public, max-age=300' })
}

const fetched = (c: Context<App>, file: string): Promise<Response> => c.env.ASSETS.fetch(new URL(`/${file}`, c.req.url))

async function asset(c: Context<App>, file: string, type: string, headers: Record<string, string> = {}): Promise<Response> {
  const { body, status } = await fetched(c, file)
  return c.newResponse(body, status as ContentfulStatusCode, { ...CACHED, ...headers, 'Content-Type': type })
}

import type { Context } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { App } from '../context.ts'
import { unknownPath } from './problem.ts'

const TYPES: Record<string, string> = {
  html: 'text/html; charset=UTF-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
}

/** The only files of `assets` that are served, beside the page itself: what pages load, and the guides. */
const FILES = ['start.js', 'scalar.js', 'reference.css', 'guides.css', 'windows.svg', 'favicon.svg']
const GUIDES = ['first-hour', 'mirroring', 'webhooks', 'windows', 'errors', 'limits', 'exports', 'codes', 'sandbox', 'credentials']

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
export const referencePage = (c: Context<App>): Promise<Response> => docsFile(c, 'reference.html')

/** Answers with the text for language models, which `npm run openapi` wrote. */
export const llmsPage = (c: Context<App>): Promise<Response> => asset(c, 'llms.txt', 'text/plain; charset=utf-8')

/** Answers with a guide, or with a file that pages load. Throws Failure 404 for any other name. */
export function referenceFile(c: Context<App>, name: string): Promise<Response> {
  if (GUIDES.includes(name)) return docsFile(c, `${name}.html`)
  if (!FILES.includes(name)) throw unknownPath()
  return docsFile(c, name)
}

const docsFile = (c: Context<App>, file: string): Promise<Response> =>
  asset(c, `docs/${file}`, TYPES[file.split('.')[1]!]!, file.endsWith('.html') ? { 'Content-Security-Policy': POLICY } : {})

/**
 * Answers with the OpenAPI document of this environment, which `npm run openapi` wrote. A deployment for tests that has another authority than the
 * sandbox leaves out the paths that it does not serve.
 */
export async function openApi(c: Context<App>, isServed: (path: string) => boolean): Promise<Response> {
  const { environment, taxAuthority } = c.var.system.settings
  const found = await fetched(c, `openapi.${environment}.json`)
  const headers = { 'Cache-Control': 'public, max-age=300', 'Content-Type': 'application/json' }
  const isWhole = environment === 'live' || taxAuthority === 'sandbox' || found.status !== 200
  return c.newResponse(isWhole ? found.body : served(await found.text(), isServed), found.status as ContentfulStatusCode, headers)
}

function served(text: string, isServed: (path: string) => boolean): string {
  const document = JSON.parse(text) as { paths: Record<string, unknown> }
  const paths = Object.fromEntries(Object.entries(document.paths).filter(([path]) => isServed(path)))
  return JSON.stringify({ ...document, paths })
}

const fetched = (c: Context<App>, file: string): Promise<Response> => c.env.ASSETS.fetch(new URL(`/${file}`, c.req.url))

async function asset(c: Context<App>, file: string, type: string, headers: Record<string, string> = {}): Promise<Response> {
  const { body, status } = await fetched(c, file)
  return c.newResponse(body, status as ContentfulStatusCode, { ...CACHED, ...headers, 'Content-Type': type })
}

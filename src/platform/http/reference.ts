import type { Context } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { App } from '../context.ts'
import { unknownPath } from './problem.ts'

/** The only files of the viewer's package that are served. */
const VIEWER: Record<string, string> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
}

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ')

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Fiscal Data Service API</title>
<link rel="icon" href="/docs/favicon-32x32.png">
<link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
<div id="reference"></div>
<noscript>The reference needs JavaScript. The OpenAPI document is at <a href="/v1/openapi.json">/v1/openapi.json</a>.</noscript>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`

const START = `SwaggerUIBundle({ url: '/v1/openapi.json', dom_id: '#reference', deepLinking: true, docExpansion: 'list', defaultModelsExpandDepth: 0, filter: true, tryItOutEnabled: true, validatorUrl: null, persistAuthorization: false })
`

const CACHED = { 'Cache-Control': 'public, max-age=3600' }

/** Answers with the API reference page, which loads nothing from other hosts. */
export const referencePage = (c: Context<App>): Response => c.html(PAGE, 200, { ...CACHED, 'Content-Security-Policy': POLICY })

/** Answers with one of the page's files. Throws Failure 404 for any other name. */
export async function referenceFile(c: Context<App>, file: string): Promise<Response> {
  if (file === 'start.js') return c.body(START, 200, { ...CACHED, 'Content-Type': 'text/javascript; charset=utf-8' })
  const type = VIEWER[file]
  if (!type) throw unknownPath()
  const asset = await c.env.ASSETS.fetch(new URL(`/${file}`, c.req.url))
  return c.newResponse(asset.body, asset.status as ContentfulStatusCode, { ...CACHED, 'Content-Type': type })
}

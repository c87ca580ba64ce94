import type { Context } from 'hono'
import { Failure } from '../../failures.ts'
import type { App } from '../context.ts'

/** The files of the viewer's package that the reference page needs; nothing else of it is served. */
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
<noscript>The reference needs JavaScript. The document itself is at <a href="/v1/openapi.json">/v1/openapi.json</a>.</noscript>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`

const START = `SwaggerUIBundle({ url: '/v1/openapi.json', dom_id: '#reference', deepLinking: true, docExpansion: 'list', defaultModelsExpandDepth: 0, filter: true, tryItOutEnabled: true, validatorUrl: null, persistAuthorization: false })
`

const cached = { 'Cache-Control': 'public, max-age=3600' }

/** The API reference page. It loads nothing from elsewhere. */
export const referencePage = (c: Context<App>): Response => c.html(PAGE, 200, { ...cached, 'Content-Security-Policy': POLICY })

/** One of the page's files. */
export async function referenceFile(c: Context<App>, file: string): Promise<Response> {
  if (file === 'start.js') return c.body(START, 200, { ...cached, 'Content-Type': 'text/javascript; charset=utf-8' })
  const type = VIEWER[file]
  if (!type) throw new Failure('not_found', 'request.unknown_path', 'There is nothing at this path.')
  const asset = await c.env.ASSETS.fetch(new URL(`/${file}`, c.req.url))
  return new Response(asset.body, { status: asset.status, headers: { ...cached, 'Content-Type': type } })
}

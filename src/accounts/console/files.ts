/** No script, style or picture of another origin, nothing inline, nothing that frames the page, and no text that becomes code. */
const POLICY = [
  "default-src 'none'",
  ...['script', 'style', 'font', 'img', 'connect'].map((what) => `${what}-src 'self'`),
  ...['form-action', 'frame-ancestors', 'base-uri'].map((what) => `${what} 'none'`),
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const FOLDER = '/console/assets/'

/**
 * Answers with a file of the console. The names of its files change with their content. Every other path is a page, which the browser's
 * script chooses.
 */
export async function consoleFile(assets: Fetcher, request: Request): Promise<Response> {
  const { pathname, origin } = new URL(request.url)
  const isFile = pathname.startsWith(FOLDER)
  const asked = new Headers()
  const known = request.headers.get('if-none-match')
  if (known !== null) asked.set('If-None-Match', known)
  const file = await assets.fetch(new URL(isFile ? pathname : '/console/index.html', origin), { headers: asked })
  const headers = new Headers(file.headers)
  headers.set('Cache-Control', isFile && file.ok ? 'public, max-age=31536000, immutable' : 'no-cache')
  headers.set('Content-Security-Policy', POLICY)
  headers.set('Cross-Origin-Opener-Policy', 'same-origin')
  return new Response(file.body, { status: file.status, headers })
}

import type { Context } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { App } from '../../platform/context.ts'
import { Failure } from '../../platform/failures.ts'
import { readBytes } from '../../platform/http/body.ts'
import { apiHeaders, ownRequestId, requestLog, systemOfRequest } from '../../platform/http/envelope.ts'
import { Hono } from '../../platform/http/hono.ts'
import { limitHeaders, limitPublic } from '../../platform/http/limits.ts'
import { problem, unknownPath } from '../../platform/http/problem.ts'
import { consentOfCode, withdrawAsSubject } from '../consents/consents.ts'
import { codeOf, type Given, giveLogin, openLink, textOfLink } from './giving.ts'
import { closedBecause } from './links.ts'
import { type AskPage, askPage, type Before, closedPage, codePage, consentPage, donePage, failedPage } from './page.ts'
import { PAGE_WORDS } from './words.ts'

type PageLanguage = AskPage['language']

/** The pages of links and consents, for people: they are not in the API's document. */
export const linkPages: Hono<App> = new Hono<App>()

export const isOfLinks = (pathname: string): boolean =>
  pathname.startsWith('/connect/') || pathname === '/consent' || pathname.startsWith('/consent/')

/** Nothing of another origin, nothing inline, and nobody's frame: no origin of an organization is verified. */
const POLICY = [
  ...["default-src 'none'", "script-src 'self'", "style-src 'self'", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"],
  ...["require-trusted-types-for 'script'", "trusted-types 'none'"],
].join('; ')

/** The files of an e.firma have four kilobytes. */
const MOST_BYTES = 64 * 1024
const FILES: Readonly<Record<string, string>> = { 'connect.css': 'text/css; charset=utf-8', 'connect.js': 'text/javascript; charset=utf-8' }

const show = (c: Context<App>, page: string, status: ContentfulStatusCode = 200): Response =>
  c.html(page, status, { 'Content-Security-Policy': POLICY, 'X-Robots-Tag': 'noindex' })

const LANGUAGES = Object.keys(PAGE_WORDS) as PageLanguage[]

const languageOf = (c: Context<App>, standard: PageLanguage): PageLanguage =>
  LANGUAGES.find((one) => one === c.req.query('lang')) ?? standard

/** The language of a page that no link names: that of the browser, if it is English. */
const ofBrowser = (c: Context<App>): PageLanguage => languageOf(c, /^en/i.test(c.req.header('accept-language') ?? '') ? 'en' : 'es')

/** Reads a form. Throws Failure 413 and 400. */
async function readForm({ req }: Context<App>): Promise<FormData> {
  const bytes = await readBytes(req.raw, MOST_BYTES)
  try {
    return await new Response(bytes, { headers: { 'content-type': req.header('content-type') ?? '' } }).formData()
  } catch {
    throw new Failure('malformed', 'request.form', 'The body is no form.')
  }
}

const textIn = (form: FormData, name: string): string => {
  const value = form.get(name)
  return typeof value === 'string' ? value : ''
}

async function fileIn(form: FormData, name: string): Promise<string> {
  const value = form.get(name) as unknown
  return value instanceof Blob ? new Uint8Array(await value.arrayBuffer()).toBase64() : ''
}

const MOST_TEXT = 254

async function givenIn(c: Context<App>, form: FormData, language: PageLanguage): Promise<Given> {
  const line = (name: string): string => textIn(form, name).replace(/\p{C}/gu, ' ').trim().slice(0, MOST_TEXT)
  const efirma = async () => ({
    certificate: await fileIn(form, 'certificate'),
    private_key: await fileIn(form, 'private_key'),
    password: textIn(form, 'password'),
  })
  return {
    ...{ rfc: line('rfc'), language, text_sha256: textIn(form, 'text_sha256'), accepts: textIn(form, 'accepts') === 'yes' },
    purposes: form.getAll('purposes').filter((one) => typeof one === 'string'),
    subject: { kind: line('kind') === 'representative' ? 'representative' : 'taxpayer', name: line('name'), email: line('email') || null },
    login: textIn(form, 'login') === 'efirma' ? { efirma: await efirma() } : { ciec: textIn(form, 'ciec') },
    ...{ signature: textIn(form, 'signature'), user_agent: c.req.header('user-agent') ?? '' },
  }
}

const closed = (c: Context<App>, row: AskPage['row'], language: PageLanguage): Response | null => {
  const reason = closedBecause(row, c.var.system.now)
  return reason === null ? null : show(c, closedPage(reason, language, row), reason === 'verifying' ? 409 : 410)
}

linkPages
  .use(ownRequestId, requestLog, apiHeaders, limitHeaders)
  .use(async (c, next) => {
    // The path has a secret, which no log is to have.
    c.set('route', c.req.path.startsWith('/connect/') ? '/connect/:token' : '/consent/:code')
    c.set('system', systemOfRequest(c))
    await limitPublic(c)
    return next()
  })
  .get('/connect/:file{connect\\.(css|js)}', async (c) => {
    const name = c.req.param('file')
    const { body, status } = await c.env.ASSETS.fetch(new URL(`/connect/${name}`, c.req.url))
    return c.newResponse(body, status as ContentfulStatusCode, { 'Content-Type': FILES[name]!, 'Cache-Control': 'public, max-age=300' })
  })
  .get('/connect/:token', async (c) => {
    const row = await openLink(c.var.system, c.req.param('token'))
    if (!row) return show(c, closedPage('unknown', ofBrowser(c), null), 404)
    const language = languageOf(c, row.language)
    return closed(c, row, language) ?? show(c, askPage({ row, text: await textOfLink(row, language), language, before: null }))
  })
  .post('/connect/:token', async (c) => {
    const { system } = c.var
    const row = await openLink(system, c.req.param('token'))
    if (!row) return show(c, closedPage('unknown', ofBrowser(c), null), 404)
    const language = languageOf(c, row.language)
    const over = closed(c, row, language)
    if (over) return over
    const given = await givenIn(c, await readForm(c), language)
    try {
      return show(c, donePage(row, language, await giveLogin(system, row, given)))
    } catch (error) {
      const code = codeOf(error)
      if (code === null) throw error
      const now = (await openLink(system, c.req.param('token'))) ?? row
      const { rfc, purposes, subject } = given
      const before: Before = {
        ...{ code, rfc, purposes, name: subject.name, email: subject.email ?? '', kind: subject.kind },
        login: 'efirma' in given.login ? 'efirma' : 'ciec',
      }
      return closed(c, now, language) ?? show(c, askPage({ row: now, text: await textOfLink(now, language), language, before }), 422)
    }
  })
  .get('/consent', (c) => show(c, codePage(ofBrowser(c), false)))
  .get('/consent/:code', async (c) => {
    const row = await consentOfCode(c.var.system, c.req.param('code'))
    const language = languageOf(c, row?.text?.language ?? 'es')
    return row ? show(c, consentPage(row, c.req.param('code'), language, false)) : show(c, codePage(language, true), 404)
  })
  .post('/consent', async (c) => {
    const form = await readForm(c)
    const code = textIn(form, 'code')
    const row = await consentOfCode(c.var.system, code)
    const language = languageOf(c, row?.text?.language ?? 'es')
    if (!row) return show(c, codePage(language, true), 404)
    const withdraws = textIn(form, 'withdraw') === 'yes' && row.status === 'active'
    if (withdraws) await withdrawAsSubject(c.var.system, row)
    return show(c, consentPage((await consentOfCode(c.var.system, code))!, code, language, withdraws))
  })

/** What people see of an error is a page. Its status and its line in the log are those of any other. */
linkPages.onError((error, c) => {
  const { status, headers } = problem(error, c as Context<App>)
  const answer = show(c as Context<App>, failedPage(ofBrowser(c as Context<App>)), status as ContentfulStatusCode)
  const retry = headers.get('retry-after')
  if (retry !== null) answer.headers.set('retry-after', retry)
  return answer
})
linkPages.notFound((c) => problem(unknownPath(), c))

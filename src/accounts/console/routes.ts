import type { Context, MiddlewareHandler } from 'hono'
import { deleteCookie, setCookie } from 'hono/cookie'
import { validator } from 'hono/validator'
import type { App } from '../../platform/context.ts'
import { Failure } from '../../platform/failures.ts'
import { admitJson } from '../../platform/http/body.ts'
import { apiHeaders, ownRequestId, requestLog, systemOfRequest } from '../../platform/http/envelope.ts'
import { Hono } from '../../platform/http/hono.ts'
import { limitAddress, limitFailures, limitHeaders, limitPublic } from '../../platform/http/limits.ts'
import { perAddress } from '../../platform/http/operation.ts'
import { isOfOwnMachine, isOfOwnPage, readAuthorization, sessionCookie, sessionOf } from '../../platform/http/presented/session.ts'
import { problem, unknownPath } from '../../platform/http/problem.ts'
import { parse } from '../../platform/http/validation/faults.ts'
import { pageOfKeptMails, plainPage } from '../../platform/mail/kept.ts'
import { keepsMails } from '../../platform/settings.ts'
import { requestSignInLink, viewConfirmation } from '../confirmation/confirmation.ts'
import { viewInvitation } from '../identity.ts'
import { openUnsubscribeToken, unsubscribe } from '../mails/preferences.ts'
import { Address, Choice, Link, Other, Pair, Token } from './contract.ts'
import {
  changeOrganization,
  consoleFile,
  endSessionOf,
  listSessions,
  makeLink,
  signIn,
  signInByMail,
  signInWithLink,
  signOut,
  viewLink,
  viewSession,
  viewSignInLink,
} from './sessions.ts'

/** The console uses the public API and is no part of it: its own routes are not in the API's document. */
export const consoleApp: Hono<App> = new Hono<App>()

export const isOfConsole = (pathname: string): boolean => pathname === '/' || pathname === '/console' || pathname.startsWith('/console/')

const DOORS = [
  '/console/session',
  '/console/session/organization',
  '/console/sessions',
  '/console/sign-in-links',
  '/console/sign-in-links/holder',
  '/console/links',
  '/console/links/holder',
  '/console/invitations/holder',
  '/console/confirmations/holder',
  '/console/mails',
  '/console/unsubscribe',
]

const LEAVING = 'Correos · Mails'
const BUTTON = '<form method="post"><button>Dejar de recibirlos · Stop them</button></form>'
const LEAVE = {
  alerts: plainPage(LEAVING, `<p>¿Ya no quiere recibir alertas por correo? · Do you want no more alerts by mail?</p>\n${BUTTON}`),
  digest: plainPage(LEAVING, `<p>¿Ya no quiere recibir el resumen semanal? · Do you want no more weekly digests?</p>\n${BUTTON}`),
}
const LEFT = plainPage(
  LEAVING,
  '<p>Listo: ya no los recibirá. En la consola puede pedirlos otra vez. · Done: they end. In the console you can ask for them again.</p>',
)
const UNKNOWN = plainPage(LEAVING, '<p>Este enlace no es válido. · This link is not valid.</p>')

const ofOwnPage: MiddlewareHandler<App> = (c, next) => {
  if (!isOfOwnPage(c)) throw new Failure('forbidden', 'session.foreign', 'Only a page of the console may ask for this.')
  return next()
}

const admitted: MiddlewareHandler<App> = (c, next) => admitJson(c).then(next)
const sent = validator('json', (value: unknown) => value)

/** Signs in with a credential, a link or the token of a mail, whichever was sent. */
function sessionFor(c: Context<App>, sent: unknown): ReturnType<typeof signIn> {
  const { system } = c.var
  if (typeof sent === 'object' && sent !== null && 'link' in sent) {
    const { link } = parse('json', Link, sent)
    return limitFailures(c, { api_key: null, api_secret: link }, () => signInWithLink(system, link))
  }
  if (typeof sent === 'object' && sent !== null && 'token' in sent) {
    const { token, organization_id } = parse('json', Choice, sent)
    return limitFailures(c, { api_key: null, api_secret: token }, () => signInByMail(system, token, organization_id))
  }
  const pair = parse('json', Pair, sent)
  return limitFailures(c, pair, () => signIn(system, pair))
}

/** Gives the browser a session to keep. */
function answerWith(c: Context<App>, { view, sealed }: Awaited<ReturnType<typeof signIn>>): Response {
  const { name, secure } = sessionCookie(c)
  const maxAge = Math.floor((Date.parse(view.expires_at) - c.var.system.now.getTime()) / 1_000)
  setCookie(c, name, sealed, { path: '/', httpOnly: true, sameSite: 'Strict', secure, maxAge })
  return c.json(view, 201)
}

consoleApp
  .use(ownRequestId, requestLog, apiHeaders, limitHeaders)
  .use(async (c, next) => {
    c.set('route', DOORS.includes(c.req.path) ? c.req.path : '/console/*')
    c.set('system', systemOfRequest(c))
    await limitPublic(c)
    return next()
  })
  .get('/', (c) => c.redirect('/console/', 302))
  .get('/console', (c) => c.redirect('/console/', 302))
  .get('/console/session', ofOwnPage, async (c) => {
    const session = await sessionOf(c)
    return session ? c.json(await viewSession(c.var.system, session)) : c.body(null, 204)
  })
  .post('/console/session', ofOwnPage, admitted, sent, async (c) => {
    return answerWith(c, await sessionFor(c, c.req.valid('json')))
  })
  .post('/console/session/organization', ofOwnPage, admitted, sent, async (c) => {
    const { organization_id } = parse('json', Other, c.req.valid('json'))
    return answerWith(c, await changeOrganization(c.var.system, await sessionOf(c), organization_id))
  })
  .get('/console/sessions', ofOwnPage, async (c) => c.json(await listSessions(c.var.system, await sessionOf(c))))
  .delete('/console/sessions/:session_id', ofOwnPage, async (c) => {
    await endSessionOf(c.var.system, await sessionOf(c), c.req.param('session_id'))
    return c.body(null, 204)
  })
  // The answer is the same whether the address is anybody's or not.
  .post('/console/sign-in-links', ofOwnPage, admitted, sent, async (c) => {
    const { email } = parse('json', Address, c.req.valid('json'))
    await limitAddress(c)
    return c.json({ token: await requestSignInLink(c.var.system, email, isOfOwnMachine(c)) }, 202)
  })
  .post('/console/sign-in-links/holder', ofOwnPage, admitted, sent, async (c) => {
    const { token } = parse('json', Token, c.req.valid('json'))
    return c.json(await limitFailures(c, { api_key: null, api_secret: token }, () => viewSignInLink(c.var.system, token)))
  })
  .delete('/console/session', ofOwnPage, async (c) => {
    const session = await sessionOf(c)
    if (session) await signOut(c.var.system, session)
    const { name, secure } = sessionCookie(c)
    deleteCookie(c, name, { path: '/', secure })
    return c.body(null, 204)
  })
  // A page asks whom a link signs in before it uses the link, because anybody can send one to anybody.
  .post('/console/links/holder', ofOwnPage, admitted, sent, async (c) => {
    const { link } = parse('json', Link, c.req.valid('json'))
    return c.json(await limitFailures(c, { api_key: null, api_secret: link }, () => viewLink(c.var.system, link)))
  })
  // The same for an invitation: whoever accepts one knows whose it is.
  .post('/console/invitations/holder', ofOwnPage, perAddress(), admitted, sent, async (c) => {
    const { token } = parse('json', Token, c.req.valid('json'))
    return c.json(await viewInvitation(c.var.system, token))
  })
  // And for the mail of a sign-up: a stranger may have signed up with the address of whoever reads it.
  .post('/console/confirmations/holder', ofOwnPage, perAddress(), admitted, sent, async (c) => {
    const { token } = parse('json', Token, c.req.valid('json'))
    return c.json(await viewConfirmation(c.var.system, token))
  })
  // For scripts, which hold a credential: no session makes a link.
  .post('/console/links', async (c) => {
    const presented = readAuthorization(c.req.header('authorization'))
    const link = await limitFailures(c, presented, () => makeLink(c.var.system, presented))
    return c.json({ url: `${new URL(c.req.url).origin}/console/${link.hash}`, expires_at: link.expires_at }, 201)
  })
  // The mails that nobody sends, with their links: for whoever sits at the machine of a service whose data is invented.
  .get('/console/mails', async (c) => {
    const { db, settings } = c.var.system
    if (!keepsMails(settings) || !isOfOwnMachine(c)) throw unknownPath()
    return c.html(await pageOfKeptMails(db, new URL(c.req.url).origin))
  })
  // The link of a mail, without a session: looking at it, as a scanner of mails does, changes nothing. Mail programs post to it themselves.
  .get('/console/unsubscribe', async (c) => {
    const of = await openUnsubscribeToken(c.var.system, c.req.query('token') ?? '')
    return c.html(of ? LEAVE[of.kind] : UNKNOWN, of ? 200 : 404)
  })
  .post('/console/unsubscribe', async (c) => {
    const isDone = await unsubscribe(c.var.system, c.req.query('token') ?? '')
    return c.html(isDone ? LEFT : UNKNOWN, isDone ? 200 : 404)
  })
  .get('/console/*', (c) => consoleFile(c.env.ASSETS, c.req.raw))

consoleApp.onError(problem)
consoleApp.notFound((c) => problem(unknownPath(), c))

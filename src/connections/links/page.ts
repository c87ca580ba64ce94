import type { ConsentRow } from '../consents/store.ts'
import { purposeName, sourceNames } from '../consents/text.ts'
import type { ConsentText, PageLanguage } from '../tables.ts'
import type { Received } from './giving.ts'
import { type LinkRow, MOST_LOGINS } from './store.ts'
import { PAGE_WORDS, type PageWords } from './words.ts'

/** Text that is HTML already. */
class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}
type Part = string | number | Html | false | null | readonly Part[]

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

function textOf(part: Part): string {
  if (part === null || part === false) return ''
  if (part instanceof Html) return part.text
  if (typeof part === 'object') return part.map(textOf).join('')
  return String(part).replace(/[&<>"']/g, (one) => ENTITIES[one]!)
}

/** HTML in which everything that is put in is text, unless it is HTML of this function. */
const html = (strings: TemplateStringsArray, ...parts: Part[]): Html =>
  new Html(strings.map((text, n) => text + (n < parts.length ? textOf(parts[n]!) : '')).join(''))

const document = (language: PageLanguage, title: string, main: Part): string =>
  textOf(html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<link rel="stylesheet" href="/connect/connect.css">
<script type="module" src="/connect/connect.js"></script>
</head>
<body>
<main>
${main}
</main>
</body>
</html>
`)

const facts = (pairs: readonly (readonly [name: string, value: Part])[]): Html =>
  html`<dl>${pairs.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`

const paragraphs = (text: string): Html[] => text.split('\n').map((line) => html`<p>${line}</p>`)

/** The same page in the other language. */
const otherLanguage = (language: PageLanguage): Html => {
  const other = language === 'es' ? 'en' : 'es'
  return html`<p class="language"><a href="?lang=${other}" lang="${other}" hreflang="${other}">${PAGE_WORDS[language].other}</a></p>`
}

const alertOf = (words: PageWords, sentences: readonly string[]): Html =>
  html`<div class="alert" role="alert" tabindex="-1" autofocus><h2>${words.wrong}</h2>${sentences.map((one) => html`<p>${one}</p>`)}</div>`

/** The sentence on what refused a login. */
export const sentenceOf = (words: PageWords, code: string | null): string =>
  (code?.startsWith('billing.') ? words.errors['billing.refused'] : words.errors[code ?? '']) ?? words.retry

/** What was written before, none of it secret, and why it did not do. */
export interface Before {
  code: string | null
  rfc: string
  name: string
  email: string
  kind: string
  purposes: readonly string[]
  login: string
}

export interface AskPage {
  row: LinkRow
  text: ConsentText | null
  language: PageLanguage
  before: Before | null
}

const factsOf = ({ row, language }: AskPage): Html => {
  const words = PAGE_WORDS[language]
  const purposes = row.purposes.map(({ key }) => purposeName(key, language)).join(' ')
  return facts([
    ...(row.controller.organization === row.controller.name ? [] : [[words.facts.by, row.controller.organization] as const]),
    ...(row.rfc === null ? [] : [[words.facts.rfc, row.rfc] as const]),
    ...(purposes === '' ? [] : [[words.facts.for, purposes] as const]),
    [words.facts.what, sourceNames(row.sources, language).join('; ')],
    [words.facts.from, row.access_from ?? words.allHistory],
    [words.facts.until, row.access_until ?? words.untilWithdrawn],
    [words.facts.never, words.never],
    [words.facts.expires, html`<time datetime="${row.expires_at.toISOString()}">${instantOf(row.expires_at, language)}</time>`],
  ])
}

const instantOf = (instant: Date, language: PageLanguage): string =>
  new Intl.DateTimeFormat(language === 'es' ? 'es-MX' : 'en-US', {
    dateStyle: 'long',
    timeStyle: 'short',
    timeZone: 'America/Mexico_City',
  }).format(instant)

function consentFields({ row, text, language, before }: AskPage): Part {
  if (text === null) return null
  const words = PAGE_WORDS[language]
  const voluntary = row.purposes.filter(({ necessary }) => !necessary)
  const isChecked = (kind: string): string => ((before?.kind || 'taxpayer') === kind ? 'checked' : '')
  return html`<section aria-labelledby="consent">
<h2 id="consent">${words.consent}</h2>
<div class="text">${paragraphs(text.content)}</div>
<input type="hidden" name="text_sha256" value="${text.sha256}">
<label class="tick"><input type="checkbox" name="accepts" value="yes" required> <span>${words.accept}</span></label>
${
  voluntary.length > 0 &&
  html`<fieldset><legend>${words.voluntary}</legend>${voluntary.map(
    ({ key }) =>
      html`<label class="tick"><input type="checkbox" name="purposes" value="${key}" ${before?.purposes.includes(key) ? 'checked' : ''}> <span>${purposeName(key, language)}</span></label>`,
  )}</fieldset>`
}
<fieldset><legend>${words.who}</legend>
<label class="tick"><input type="radio" name="kind" value="taxpayer" ${isChecked('taxpayer')}> <span>${words.taxpayer}</span></label>
<label class="tick"><input type="radio" name="kind" value="representative" ${isChecked('representative')}> <span>${words.representative}</span></label>
</fieldset>
<label>${words.name}<input name="name" autocomplete="name" maxlength="200" required value="${before?.name ?? ''}"></label>
<label>${words.email}<input name="email" type="email" autocomplete="email" maxlength="254" value="${before?.email ?? ''}"></label>
</section>`
}

function loginFields({ row, language, before }: AskPage): Html {
  const words = PAGE_WORDS[language]
  const chosen = before && row.logins.some((kind) => kind === before.login) ? before.login : row.logins.includes('ciec') ? 'ciec' : 'efirma'
  const both = row.logins.length > 1
  const choice = (kind: 'ciec' | 'efirma') =>
    html`<label class="tick"><input type="radio" name="login" value="${kind}" ${chosen === kind ? 'checked' : ''}> <span>${words[kind]}</span></label>`
  return html`<section aria-labelledby="login">
<h2 id="login">${words.login}</h2>
${row.rfc === null && html`<label>${words.rfc}<input name="rfc" autocomplete="off" autocapitalize="characters" spellcheck="false" maxlength="30" required value="${before?.rfc ?? ''}"></label>`}
${both ? html`<fieldset><legend>${words.with}</legend>${choice('ciec')}${choice('efirma')}</fieldset>` : html`<input type="hidden" name="login" value="${chosen}">`}
${
  row.logins.includes('ciec') &&
  html`<div class="of-ciec"><label for="ciec">${words.ciec}</label><input id="ciec" name="ciec" type="password" autocomplete="off" maxlength="256" aria-describedby="ciec-hint">
<p class="hint" id="ciec-hint">${words.ciecHint}</p></div>`
}
${
  row.logins.includes('efirma') &&
  html`<div class="of-efirma"><noscript><p class="alert">${words.noScript}</p></noscript>
<p class="hint" id="efirma-hint">${words.efirmaHint}</p>
<label>${words.certificate}<input name="certificate" type="file" accept=".cer,.pem" aria-describedby="efirma-hint"></label>
<label>${words.key}<input name="private_key" type="file" accept=".key,.pem"></label>
<label>${words.password}<input name="password" type="password" autocomplete="off" maxlength="256"></label>
<input type="hidden" name="signature" value=""></div>`
}
</section>`
}

/** The page where a taxpayer gives a login. */
export function askPage(asked: AskPage): string {
  const { row, text, language, before } = asked
  const words = PAGE_WORDS[language]
  const { name } = row.controller
  const heading = row.is_relink && text === null ? words.asksAgain(name) : words.asks(name)
  const tries = row.attempts > 0 ? [words.triesLeft(MOST_LOGINS - row.attempts)] : []
  return document(
    language,
    words.title,
    html`${otherLanguage(language)}<h1>${heading}</h1>
${before && alertOf(words, [sentenceOf(words, before.code), ...tries])}
<p>${text === null ? words.again : ''} ${words.onlyUs}</p>
${factsOf(asked)}
<form method="post" enctype="multipart/form-data" action="?lang=${language}" data-consent="${text === null ? '' : row.consent_id}" data-necessary="${row.purposes
      .filter(({ necessary }) => necessary)
      .map(({ key }) => key)
      .join(
        ',',
      )}" data-purposes="${row.purposes.map(({ key }) => key).join(',')}" data-asking="${words.asking}" data-unsigned="${words.errors['connect_link.unsigned']!}" data-password="${words.errors['efirma.wrong_password']!}">
${consentFields(asked)}
${loginFields(asked)}
<button>${words.connect}</button>
<p id="live" role="status" aria-live="polite"></p>
</form>`,
  )
}

/** Where the page leads afterwards; null without an address. */
export function returnTo(row: Pick<LinkRow, 'return_url' | 'connect_link_id' | 'state'>, status: string): string | null {
  if (row.return_url === null) return null
  const url = new URL(row.return_url)
  url.searchParams.set('connect_link_id', row.connect_link_id)
  url.searchParams.set('status', status)
  if (row.state !== null) url.searchParams.set('state', row.state)
  return url.href
}

const grouped = (code: string): string => code.match(/.{1,5}/g)!.join('-')

/** The page after a login was given, with the receipt. */
export function donePage(row: LinkRow, language: PageLanguage, { status, code, rfc }: Received): string {
  const words = PAGE_WORDS[language]
  const back = returnTo(row, status)
  return document(
    language,
    words.title,
    html`<div role="status"><h1>${status === 'connected' ? words.done : words.kept}</h1></div>
${status === 'submitted' && html`<p>${words.keptText}</p>`}
<p>${row.controller.name} · ${words.facts.rfc} ${rfc}</p>
${
  code &&
  html`<section aria-labelledby="receipt"><h2 id="receipt">${words.receipt}</h2><p><code>${grouped(code)}</code></p><p>${words.receiptText}</p>
<p><a href="/consent/${code}?lang=${language}">${words.see}</a></p></section>`
}
${back && html`<p><a class="button" rel="noreferrer" href="${back}">${words.back}</a></p>`}`,
  )
}

/** The page of a link that nobody can use now. */
export function closedPage(reason: keyof PageWords['closed'], language: PageLanguage, row: LinkRow | null): string {
  const words = PAGE_WORDS[language]
  const back = row && returnTo(row, row.status)
  return document(
    language,
    words.title,
    html`<h1>${words.title}</h1><p role="status">${words.closed[reason]}</p>${back && html`<p><a class="button" rel="noreferrer" href="${back}">${words.back}</a></p>`}`,
  )
}

/** The page of an error that nobody can do anything about. */
export const failedPage = (language: PageLanguage): string =>
  document(
    language,
    PAGE_WORDS[language].title,
    html`<h1>${PAGE_WORDS[language].title}</h1><p role="alert">${PAGE_WORDS[language].retry}</p>`,
  )

/** The page where a code of a receipt is written. */
export function codePage(language: PageLanguage, isUnknown: boolean): string {
  const words = PAGE_WORDS[language]
  return document(
    language,
    words.yourConsent,
    html`${otherLanguage(language)}<h1>${words.yourConsent}</h1>${isUnknown && alertOf(words, [words.unknownCode])}
<form method="post" action="/consent?lang=${language}"><label>${words.code}<input name="code" autocomplete="off" spellcheck="false" maxlength="60" required></label><button>${words.find}</button></form>`,
  )
}

/** The page of a consent, with the button that withdraws it. */
export function consentPage(row: ConsentRow, code: string, language: PageLanguage, isNewlyWithdrawn: boolean): string {
  const words = PAGE_WORDS[language]
  const granted = row.purposes.filter((purpose) => purpose.granted).map(({ key }) => purposeName(key, language))
  return document(
    language,
    words.yourConsent,
    html`<h1>${words.yourConsent}</h1>${isNewlyWithdrawn && html`<p role="status" class="good">${words.withdrawn}</p>`}
${facts([
  [words.statusName, words.status[row.status]],
  [words.facts.rfc, row.rfc],
  [words.givenOn, instantOf(row.granted_at, language)],
  ...(row.ended_at === null ? [] : [[words.endedOn, instantOf(row.ended_at, language)] as const]),
  [words.granted, granted.join(' ')],
])}
<div class="text">${row.text && paragraphs(row.text.content)}</div>
${
  row.status === 'active' &&
  html`<form method="post" action="/consent?lang=${language}"><input type="hidden" name="code" value="${code}"><input type="hidden" name="withdraw" value="yes"><p id="withdrawing">${words.withdrawText}</p><button aria-describedby="withdrawing">${words.withdraw}</button></form>`
}`,
  )
}

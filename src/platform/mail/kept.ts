import { desc, sql } from 'drizzle-orm'
import { commit, type Database } from '../db/commit.ts'
import { changesOf } from '../db/statement.ts'
import { keptMails } from './tables.ts'

const KEPT_MS = 7 * 86_400_000
const SHOWN = 100

/** The origin of links in mails where the service has no public name. The page of kept mails puts its own in its place. */
export const LOCAL_ORIGIN = 'http://localhost:8787'

/** Keeps a mail. One that is sent again replaces itself, as its link does. */
export const keepMail = (db: Database, mail: Record<'mail_id' | 'to' | 'subject' | 'text', string>, created_at: Date): Promise<void> =>
  commit(db.$client, [
    db
      .insert(keptMails)
      .values({ ...mail, created_at })
      .onConflictDoUpdate({ target: keptMails.mail_id, set: { text: mail.text } }),
  ]).then(() => {})

export const pruneKeptMails = (db: Database, now: Date): Promise<number> =>
  changesOf(db.$client, sql`delete from ${keptMails} where ${keptMails.created_at} <= ${now.getTime() - KEPT_MS}`)

const escaped = (text: string): string => text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`)

/** A page without script and style. */
export const plainPage = (title: string, body: string): string => `<!doctype html>
<html lang="es"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">
<title>${title}</title>
<h1>${title}</h1>
${body}
</html>
`

/** The page with the newest kept mails, whose links lead to the service itself. */
export async function pageOfKeptMails(db: Database, origin: string): Promise<string> {
  const rows = await db.select().from(keptMails).orderBy(desc(keptMails.created_at), desc(keptMails.mail_id)).limit(SHOWN)
  const linked = (text: string) =>
    escaped(text.replaceAll(LOCAL_ORIGIN, origin))
      .replace(/https?:\/\/[^\s<]+/g, (url) => `<a href="${url}">${url}</a>`)
      .replaceAll('\n', '<br>\n')
  const shown = rows.map(
    ({ to, subject, text, created_at }) =>
      `<article><h2>${escaped(subject)}</h2>\n<p>${escaped(to)} · ${created_at.toISOString()}</p>\n<p>${linked(text)}</p></article>`,
  )
  return plainPage(
    'Correos de este equipo · Mails of this machine',
    `<p>Nadie más los recibe. Se guardan 7 días. · Nobody else gets them. They are kept for 7 days.</p>
${shown.join('\n') || '<p>Ninguno todavía. · None yet.</p>'}`,
  )
}

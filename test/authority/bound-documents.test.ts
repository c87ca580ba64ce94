import { env } from 'cloudflare:workers'
import { expect, it } from 'vitest'
import { authorityOf } from '../../src/authority/adapters.ts'
import { DATA_SOURCE_KEYS } from '../../src/authority/port/catalog.ts'
import { systemOf } from '../../src/platform/context.ts'
import { DOCUMENTS, filesFrom } from './support/documents.ts'
import { downloadFrom } from './support/packages.ts'

const NOW = new Date('2026-05-20T18:00:00Z')
const LOGINS = ['EKU9003173C9', 'MISC491214B86', 'ÑUGR8001017A2'].map((rfc) => ({ rfc, ciec: 'Abcd1234' }))
const authority = (bindings = {}) => authorityOf(systemOf({ ...env, ...bindings } as unknown as Env, NOW, 'test'))

it('the Worker of the sandbox invents the same files, to the byte, and the same notifications', async () => {
  let files = 0
  for (const login of LOGINS) {
    for (const source of DATA_SOURCE_KEYS) {
      const made = await filesFrom(authority(), login, source, NOW)
      expect(made, source).toEqual(await DOCUMENTS.files(login.rfc, source, NOW))
      files += made.length
    }
    const shown = await authority().mailbox.list(login, NOW)
    expect(shown).toEqual(await DOCUMENTS.notifications(login.rfc, NOW))
    const opened = shown.find(({ opened_at, document_kind }) => opened_at !== null && document_kind !== null)!
    const letter = await authority().mailbox.document(login, opened.notification, NOW)
    expect(letter!.bytes).toEqual(await DOCUMENTS.letter(login.rfc, opened))
  }
  expect(files).toBeGreaterThan(60)
})

it('a Worker that does not answer makes the authority unavailable for documents and mailbox, and CFDIs are downloaded without it', async () => {
  const silent = () => Promise.reject(new Error('There is no such Worker.'))
  const down = authority({ SANDBOX_DOCUMENTS: { files: silent, notifications: silent, letter: silent } })
  const [login] = LOGINS
  const unavailable = { error_class: 'sat_unavailable', isLocked: false, message: expect.stringContaining('does not answer') }
  await expect(filesFrom(down, login!, 'sat_csf', NOW)).rejects.toMatchObject(unavailable)
  await expect(down.mailbox.list(login!, NOW)).rejects.toMatchObject(unavailable)
  let packages = 0
  for await (const _ of downloadFrom(down, { login: login!, direction: 'issued', month: '2026-04', until: NOW })) packages++
  expect(packages).toBeGreaterThan(1)
})

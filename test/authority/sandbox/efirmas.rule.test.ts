import { describe, expect, it } from 'vitest'
import { readCertificate } from '../../../src/authority/efirma/efirma.ts'
import { LoginRejected } from '../../../src/authority/port/authority.ts'
import type { Login } from '../../../src/authority/port/login.ts'
import type { SandboxOverrides } from '../../../src/authority/sandbox/overrides.ts'
import { sandboxAuthority } from '../../../src/authority/sandbox/sandbox.ts'
import { sandboxLogins } from '../../../src/authority/sandbox/scenarios.ts'
import { certificateOf, newKey, subjectOf, type TestCertificate } from '../support/certificates.ts'
import { filesFrom } from '../support/documents.ts'
import { downloadFrom } from '../support/packages.ts'

const RFC = 'EKU9003173C9'
const DAY_MS = 86_400_000
const key = newKey()
const inDays = (days: number) => new Date(Date.now() + days * DAY_MS)

/** A login with a certificate, whose key the sandbox does not need. */
const login = (more: Partial<TestCertificate> = {}): Login => {
  const der = certificateOf(key, { subject: subjectOf(RFC), from: inDays(-9), to: inDays(9), ...more })
  return { rfc: RFC, efirma: { rfc: RFC, certificate: readCertificate(new Uint8Array(der)), pkcs8: new Uint8Array() } }
}
const overrides = (refused: string[] = []): SandboxOverrides => ({
  isRefused: async (one) => 'efirma' in one && refused.includes(one.efirma.certificate.number),
  cancellations: async () => new Map(),
  mailbox: async () => ({ sent: [], opened: new Map() }),
  open: async (_rfc, _notification, at) => at,
})
const verify = (one: Login, refused: string[] = []) => sandboxLogins(overrides(refused)).verify(one)

describe('the sandbox', () => {
  it('accepts an e.firma of the RFC that is valid now, and downloads with it as with a CIEC', async () => {
    expect(await verify(login())).toBe(true)
    const kinds: string[] = []
    const request = { login: login(), direction: 'issued', month: '2026-05', until: new Date('2026-06-20T18:00:00Z') } as const
    for await (const { kind } of downloadFrom(sandboxAuthority(overrides()), request)) kinds.push(kind)
    expect(new Set(kinds)).toEqual(new Set(['metadata', 'xml']))
  })

  it.each<[string, Partial<TestCertificate>]>([
    ['of another RFC', { subject: subjectOf('VADA800927DJ3') }],
    ['that is a digital seal', { subject: subjectOf(RFC, 'printable', [['2.5.4.11', 'Sucursal 1', 'printable']]) }],
    ['that has expired', { to: inDays(-1) }],
    ['that is not valid yet', { from: inDays(1) }],
    ['with a number like a revoked one', { number: '30001000000500000304' }],
    ['with a number like an invalid one', { number: '30001000000500000305' }],
  ])('refuses one %s, at the verification and at a download', async (_, more) => {
    expect(await verify(login(more))).toBe(false)
    const authority = sandboxAuthority(overrides())
    await expect(filesFrom(authority, login(more), 'sat_csf', new Date())).rejects.toThrow(LoginRejected)
  })

  it('refuses one that a test helper made it refuse, and no other', async () => {
    const number = '30001000000500000007'
    expect([await verify(login({ number }), [number]), await verify(login(), [number])]).toEqual([false, true])
  })
})

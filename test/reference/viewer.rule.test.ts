import { readFileSync } from 'node:fs'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'

/** What breaks without it: whoever shares a computer leaves the API secret behind, because the viewer keeps it in localStorage. */
describe('the page of the reference', () => {
  const page = readFileSync('assets/docs/reference.html', 'utf8')

  it('keeps a credential for the tab alone, and tells nobody of it', () => {
    const [tab, computer] = [new Map(), new Map()]
    const window = { localStorage: computer, sessionStorage: tab }
    const begun: (() => void)[] = []
    const made: [string, Record<string, unknown>][] = []
    runInNewContext(readFileSync('assets/docs/start.js', 'utf8'), {
      window,
      location: { origin: 'https://api.example.com' },
      addEventListener: (_: string, begin: () => void) => begun.push(begin),
      Scalar: { createApiReference: (...args: [string, Record<string, unknown>]) => made.push(args) },
    })
    expect(window.localStorage).toBe(tab)
    // It is done before the viewer is there.
    expect(page.indexOf('/docs/start.js')).toBeLessThan(page.indexOf('/docs/scalar.js'))
    expect(made).toEqual([])
    for (const begin of begun) begin()
    expect(made).toEqual([
      [
        '#reference',
        expect.objectContaining({
          ...{ url: '/v1/openapi.json', baseServerURL: 'https://api.example.com', persistAuth: true },
          ...{ telemetry: false, withDefaultFonts: false, agent: { disabled: true }, mcp: { disabled: true } },
        }),
      ],
    ])
  })

  it('fits a phone, has a word for who has no JavaScript, and loads nothing from elsewhere', () => {
    expect(page).toContain('<meta name="viewport" content="width=device-width, initial-scale=1">')
    expect(page).toMatch(/<noscript>.+<\/noscript>/)
    expect(page).not.toMatch(/(?:src|href)="(?:https?:)?\/\//)
  })
})

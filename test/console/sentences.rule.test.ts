import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { CASES, SENTENCES } from '../../console/api/spanish.ts'
import { ACTIONS, TESTED } from '../../console/pages/account/audit/words.ts'

const sources = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => ({ file, text: readFileSync(join('src', file), 'utf8') }))

/** What programs meet, and operators: no page of the console can be refused like this. */
const NOT_FOR_PEOPLE = /^(connections\/fetcher|accounts\/billing\/operator|accounts\/billing\/stripe|lists\/loading|authority\/rules)\//

/** Where a code is put together, and which ones it can be. */
const COMPUTED: Record<string, readonly string[]> = {
  'accounts/billing/billing.ts': [
    'billing.overdue',
    'billing.seats',
    'billing.trial_ended',
    'billing.trial_rfcs',
    'billing.connection_paused',
  ],
  'cfdi/summary/summary.ts': ['summary.range'],
  'connections/connections.ts': ['fiscal_entity.draft', 'fiscal_entity.invalid_ciec'],
  'connections/connect.ts': ['fiscal_entity.ciec_rejected', 'fiscal_entity.efirma_rejected'],
  // The page of a link has its own words (test/connections/links/words.rule.test.ts).
  'connections/links/giving.ts': [],
  'platform/failures.ts': [],
  'accounts/plans/quotas.ts': [],
  'app/test-helpers/test-helpers.ts': ['fiscal_entity.no_ciec', 'fiscal_entity.no_efirma'],
}

const LITERAL = /^'([a-z_]+(?:\.[a-z_0-9]+)?)'$/
const CALLS: readonly [RegExp, (code: string) => string][] = [
  [/new Failure\(\s*[^,]+?,\s*([^,]+?),/g, (code) => code],
  [/\binvalid\(\s*([^,\s]+)/g, (code) => code],
  [/\bnotFound\('([a-z_]+)'\)/g, (what) => `'${what}.not_found'`],
]

/** The codes of a file, and the expressions that are no literal. */
function codesOf(text: string): { codes: string[]; computed: string[] } {
  const found = CALLS.flatMap(([call, codeIn]) => [...text.matchAll(call)].map(([, code]) => codeIn(code!)))
  return {
    codes: found.flatMap((code) => LITERAL.exec(code)?.[1] ?? []),
    computed: found.filter((code) => !LITERAL.test(code)),
  }
}

/** The codes with which the recorded examples were refused. */
const recorded = readdirSync('docs/examples').flatMap((file) => {
  const { errors = {} } = JSON.parse(readFileSync(join('docs/examples', file), 'utf8')) as { errors?: Record<string, object> }
  return Object.values(errors).flatMap((one) => Object.keys(one))
})

describe('in the console, in Spanish', () => {
  it.each([
    ["new Failure('conflict', 'pear.ripe', 'Eat it.')", 'pear.ripe'],
    ["new Failure(\n  'conflict',\n  'pear.ripe',\n  'Eat it.',\n)", 'pear.ripe'],
    ["new Failure(isRipe ? 'conflict' : 'invalid', 'pear.ripe', 'Eat it.')", 'pear.ripe'],
    ["invalid('pear.ripe', [fault])", 'pear.ripe'],
    ["notFound('pear')", 'pear.not_found'],
  ])('%s has its code', (text, code) => expect(codesOf(text)).toEqual({ codes: [code], computed: [] }))

  it('codes are put together only where this test knows what they can be', () => {
    const files = sources.filter(({ text }) => codesOf(text).computed.length > 0).map(({ file }) => file)
    expect(files.sort()).toEqual(Object.keys(COMPUTED).sort())
  })

  it('every refusal that a person can meet has a sentence', () => {
    const quotas = sources.find(({ file }) => file === 'accounts/plans/quotas.ts')!.text
    const efirma = sources.filter(({ file }) => file.startsWith('authority/efirma/')).map(({ text }) => text)
    const said = [
      ...sources.filter(({ file }) => !NOT_FOR_PEOPLE.test(file)).flatMap(({ text }) => codesOf(text).codes),
      ...Object.values(COMPUTED).flat(),
      ...[...quotas.matchAll(/code: '([a-z_.]+)'/g)].map(([, code]) => code!),
      ...efirma.flatMap((text) => [...text.matchAll(/'(efirma\.[a-z_]+)'/g)].map(([, code]) => code!)),
      ...['authority.sat_unavailable', 'authority.rate_limited', 'authority.login_failed', 'authority.account_locked'],
      ...['internal', 'service.unusable_settings'],
      ...recorded,
    ]
    expect(said.length).toBeGreaterThan(150)
    expect([...new Set(said)].filter((code) => !SENTENCES[code]).sort()).toEqual([])
  })

  it('cases of a code are told apart by what the API says', () => {
    const all = Object.values(CASES).flat()
    expect(all.filter(({ begins }) => !sources.some(({ text }) => text.includes(begins)))).toEqual([])
    expect(all.filter(({ text }) => !/^[A-ZÁÉÍÓÚ¿].*\.$/.test(text))).toEqual([])
  })

  it('every sentence ends as one', () => {
    expect(Object.entries(SENTENCES).filter(([, text]) => !/^[A-ZÁÉÍÓÚ¿].*\.$/.test(text))).toEqual([])
  })

  it('every action of the audit has a name', () => {
    const text = readFileSync('test/platform/audit/audit.worker.test.ts', 'utf8')
    const table = text.slice(text.indexOf('const ACTIONS'), text.indexOf('const closed'))
    const tested = [...table.matchAll(/: '([a-z_]+\.[a-z_]+)'/g)]
    const written = sources.flatMap(({ text }) => [...text.matchAll(/action: '([a-z_]+\.[a-z_]+)'/g)])
    const all = new Set([...tested, ...written].map(([, action]) => action!).filter((action) => !action.startsWith('test_helper.')))
    expect(all.size).toBeGreaterThan(50)
    expect([...all].filter((action) => !ACTIONS[action]).sort()).toEqual([])
    const helpers = sources.find(({ file }) => file === 'app/test-helpers/test-helpers.ts')!.text
    const helped = [...helpers.matchAll(/test_helper\.([a-z_]+)['`]/g)].map(([, action]) => action!)
    expect(helped.length).toBeGreaterThan(5)
    expect(helped.filter((action) => !TESTED[action])).toEqual([])
  })
})

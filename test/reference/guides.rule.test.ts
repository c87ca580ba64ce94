import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type * as z from 'zod'
import * as helpers from '../../src/app/test-helpers/contract.ts'
import { type Document, operationsOf } from '../../tools/reference/json.ts'
import { errorCodes } from '../../tools/reference/pages/codes.ts'
import { BODIES } from '../../tools/reference/pages/pages.ts'
import { readRecordings } from '../../tools/reference/recordings.ts'

const GUIDES = ['first-hour', 'mirroring', 'webhooks', 'windows', 'errors', 'limits', 'credentials', 'exports', 'codes', 'sandbox']
const pageOf = (name: string): string => readFileSync(`assets/docs/${name}.html`, 'utf8')

/** Codes as they stand in the source, whatever makes a failure of them. */
const inSource = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts') && !/^(connections\/fetcher|accounts\/billing\/operator)\//.test(path))
  .flatMap((path) => [...readFileSync(`src/${path}`, 'utf8').matchAll(/new Failure\(\s*'\w+',\s*'([^']+)'/g)].map(([, code]) => code!))

describe('the page of errors', () => {
  const page = pageOf('errors')
  const notified = (code: string): boolean => page.includes(`id="${code}"`)

  it('has every code that the code refuses with', () => {
    expect(inSource.length).toBeGreaterThan(60)
    expect([...new Set(inSource)].filter((code) => !notified(code))).toEqual([])
  })

  it('has every code that a test was answered with', () => {
    const recorded = Object.values(readRecordings()).flatMap(({ errors }) => Object.values(errors).flatMap((codes) => Object.keys(codes)))
    expect([...new Set(recorded)].filter((code) => !notified(code) && code !== 'internal')).toEqual([])
  })

  it('says of each one what to do', () => {
    for (const { code } of errorCodes(readRecordings())) {
      const [, cells] = new RegExp(`id="${code.replace('.', '\\.')}">(.*?)</tr>`, 's').exec(page)!
      expect(/<td>([^<].{20,}?)<\/td>\s*$/s.test(cells!.trim()), code).toBe(true)
    }
  })
})

describe('the page of the sandbox', () => {
  const id = 'fe_01kabcdefghjkmnpqrstvwxyz0'
  const contracts: Record<string, z.ZodType> = {
    ...{ moveClock: helpers.ClockMove, arrangeOrganization: helpers.OrganizationScenario, cancelAtAuthority: helpers.CancellationScenario },
    ...{ failSyncJob: helpers.JobFailureScenario, publishAtRegistry: helpers.RepseScenario, publishOnBlacklist: helpers.BlacklistScenario },
    ...{ sendToMailbox: helpers.MailboxScenario, arrangeInvoice: helpers.InvoiceScenario },
  }
  const document = JSON.parse(readFileSync('assets/openapi.test.json', 'utf8')) as Document
  const taking = operationsOf(document).filter(({ path, operation }) => path.startsWith('/v1/test-helpers') && operation.requestBody)

  it('shows a body of each helper that takes one, which its contract accepts', () => {
    expect(Object.keys(BODIES).sort()).toEqual(taking.map(({ operation }) => String(operation.operationId)).sort())
    for (const [name, body] of Object.entries(BODIES)) {
      const sent = 'fiscal_entity_id' in body ? { ...body, fiscal_entity_id: id } : body
      expect(contracts[name]!.safeParse(sent).error, name).toBeUndefined()
    }
  })
})

it('the reference leads to every guide', () => {
  const menu = readFileSync('assets/docs/reference.html', 'utf8').split('</nav>')[0]!
  expect([...menu.matchAll(/href="\/docs\/([a-z-]+)"/g)].map(([, name]) => name)).toEqual(GUIDES)
})

describe.each(GUIDES)('/docs/%s', (name) => {
  const page = pageOf(name)

  it('loads nothing from elsewhere, runs nothing, and leads nowhere that is not there', () => {
    expect(page).not.toMatch(/<script|<link[^>]+https?:|<img[^>]+https?:|style="/)
    for (const [, file] of page.matchAll(/(?:href|src)="\/docs\/([\w.-]+)/g))
      expect(readdirSync('assets/docs'), file).toContain(file!.includes('.') ? file : `${file}.html`)
    for (const [, id] of page.matchAll(/href="#([^"]+)"/g)) expect(page).toContain(`id="${id}"`)
  })

  it('names only paths of the API', () => {
    const { paths } = JSON.parse(readFileSync('assets/openapi.test.json', 'utf8')) as { paths: Record<string, object> }
    const patterns = Object.keys(paths).map((path) => new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`))
    const named = [...page.matchAll(/(?:GET|POST|PATCH|DELETE|\$API) ?(\/v1\/[\w{}$/-]+)/g)].map(([, path]) => path!)
    for (const path of named)
      expect(
        patterns.some((pattern) => pattern.test(path.replaceAll('$FE', 'x'))),
        path,
      ).toBe(true)
  })
})

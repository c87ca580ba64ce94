import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { scheduledPath } from '../../scripts/crons.ts'
import { Customer } from '../../scripts/customer.ts'
import { WRANGLER } from '../../scripts/wrangler.ts'
import { Clone } from './support/clone.ts'
import { freePort, isUp, until } from './support/runner.ts'
import { ACCOUNT, StandIn, TOKEN } from './support/stand-in.ts'

const clone = new Clone()
const platform = new StandIn()
beforeAll(() => platform.start())
afterAll(async () => {
  clone.discard()
  await platform.stop()
})

const wrangler = (...args: string[]) =>
  clone.run([WRANGLER, ...args], {
    CLOUDFLARE_API_BASE_URL: platform.url,
    CLOUDFLARE_API_TOKEN: TOKEN,
    CLOUDFLARE_ACCOUNT_ID: ACCOUNT,
  })

const isLong = process.env['FUZZ'] === 'full'

describe('on a fresh clone', () => {
  it('wrangler dev alone is the service, on whatever state it serves', async () => {
    const port = await freePort()
    const url = `http://127.0.0.1:${port}`
    const own = ['--ip', '127.0.0.1', '--port', String(port), '--inspector-port', '0', '--show-interactive-dev-session=false']
    const run = wrangler('dev', ...own, '--persist-to', join(clone.folder, 'another-state'))
    await until(
      () => `the service answers: ${run.said.slice(-2_000)}`,
      240_000,
      () => isUp(url),
    )
    expect(readFileSync(join(clone.folder, '.dev.vars'), 'utf8')).toMatch(/^(\w+_KEYS=1:.{44}\n){5}$/)
    expect(statSync(join(clone.folder, 'another-state')).mode & 0o777).toBe(0o700)
    expect(run.said).toContain('`npm start` also fires the crons, which the local runtime does not do by itself.')

    const customer = await Customer.signUp(url, 'Despacho Uno')
    const id = await customer.connect('EKU9003173C9')
    const isDownloaded = async () => {
      const { status, jobs } = await customer.sync(id)
      return status === 'idle' && jobs.total > 0 && jobs.succeeded === jobs.total
    }
    await until('everything is downloaded', 240_000, isDownloaded, 500)
    const found = await customer.ask<{ data: unknown[] }>('GET', `/v1/cfdi?fiscal_entity_id=${id}&limit=5`)
    expect(found.data).toHaveLength(5)
    for (const path of [
      ...['analytics/vat-position', 'analytics/financing', 'analytics/fx-exposure', 'cfdi/risk', 'cfdi/deductions', 'cfdi/withholdings'],
    ])
      expect([path, await customer.ask('GET', `/v1/${path}?fiscal_entity_id=${id}`)]).toEqual([path, expect.any(Object)])
    expect(await customer.ask('GET', `/v1/fiscal-entities/${id}/tax-profile`)).toMatchObject({ rfc: 'EKU9003173C9' })
    const cron = await fetch(`${url}${scheduledPath('*/15 * * * *', Date.now())}`)
    expect([cron.status, await cron.text()]).toEqual([200, 'ok'])
    run.kill()
    await run.ended
  })

  it.runIf(isLong)('wrangler deploy stops before it calls anybody, with a sentence for each placeholder', async () => {
    const run = wrangler('deploy', '--env', 'live')
    expect(await run.ended).toBe(1)
    for (const sentence of [
      'PUBLIC_HOSTS in [env.live.vars] of wrangler.toml is still a placeholder: ',
      'CHECKOUT_URL in [env.live.vars] of wrangler.toml is still a placeholder: ',
      'The id of the database fiscal-live-control in wrangler.toml is still a placeholder: `npm run deploy -- live` makes the database',
    ])
      expect(run.said).toContain(sentence)
    expect(platform.calls).toEqual([])
  })

  it.runIf(isLong)('wrangler deploy stops for the local environment too', async () => {
    const run = wrangler('deploy', '--env', '')
    expect([await run.ended, run.said]).toEqual([
      1,
      expect.stringContaining('Deploy with `npm run deploy -- test` or `npm run deploy -- live`.'),
    ])
    expect(platform.calls).toEqual([])
  })

  it('wrangler deploy --dry-run bundles all the same, with the PDF library as a module of its own', async () => {
    const run = wrangler('deploy', '--dry-run', '--env', 'live', '--outdir', 'dist')
    expect(await run.ended).toBe(0)
    const bundle = readFileSync(join(clone.folder, 'dist/index.js'), 'utf8')
    expect(bundle).toContain('There is nothing at this path.')
    expect(bundle).toContain('import("./pdfjs.mjs")')
    expect(existsSync(join(clone.folder, 'dist/pdfjs.mjs'))).toBe(true)
  })
})

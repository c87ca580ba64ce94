import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
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

describe('on a fresh clone', () => {
  it('wrangler dev serves the service, with secrets and migrated databases', async () => {
    const port = await freePort()
    const run = wrangler(
      'dev',
      '--ip',
      '127.0.0.1',
      '--port',
      String(port),
      '--inspector-port',
      '0',
      '--show-interactive-dev-session=false',
    )
    await until('the service answers', 60_000, () => isUp(`http://127.0.0.1:${port}`))
    const customer = await Customer.signUp(`http://127.0.0.1:${port}`, 'Despacho Uno')
    expect(await customer.connect('STA050101AB7')).toMatch(/^fe_/)
    expect(readFileSync(join(clone.folder, '.dev.vars'), 'utf8')).toMatch(/^(\w+_KEYS=1:.{44}\n){5}$/)
    expect(run.said).toContain(
      'Requests alone are answered here. `npm start` keeps its own state in .state and also does the background work.',
    )
    run.kill()
    await run.ended
  })

  it('wrangler deploy stops before it calls anybody, with a sentence for each placeholder', async () => {
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

  it('wrangler deploy stops for the local environment too', async () => {
    const run = wrangler('deploy', '--env', '')
    expect([await run.ended, run.said]).toEqual([
      1,
      expect.stringContaining('Deploy with `npm run deploy -- test` or `npm run deploy -- live`.'),
    ])
    expect(platform.calls).toEqual([])
  })

  it('wrangler deploy --dry-run bundles all the same, without the texts of the OpenAPI document', async () => {
    const run = wrangler('deploy', '--dry-run', '--env', 'live', '--outdir', 'dist')
    expect(await run.ended).toBe(0)
    const bundle = readFileSync(join(clone.folder, 'dist/index.js'), 'utf8')
    expect(bundle).toContain('There is nothing at this path.')
    // A text of the OpenAPI document (Problem).
    expect(bundle).not.toContain('What went wrong and what to do about it.')
  })
})

import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chromiumPath, findings, LOOKS, openBrowser, settle } from '../../scripts/browser.ts'
import { ConsoleWorld, registeredPages } from './support/console-world.ts'
import { discard } from './support/runner.ts'

const isMissing = chromiumPath() === null
const name = isMissing
  ? 'the console in Chromium (skipped: there is none; apt-get install chromium, or name one in CHROMIUM_PATH)'
  : 'the console in Chromium'

const pages = await registeredPages()

describe.skipIf(isMissing)(name, () => {
  let world: ConsoleWorld
  let browser: Browser

  beforeAll(async () => {
    ;[world, browser] = await Promise.all([ConsoleWorld.start(), openBrowser()])
  }, 240_000)
  afterAll(async () => {
    await browser?.close()
    if (world) await discard(world.service.stateDir, [world.service])
  })

  describe.each(Object.entries(LOOKS))('%s', (_, options) => {
    it('every page: axe finds nothing, the policy is kept, nothing is asked of another origin, nothing scrolls sideways', async () => {
      const { context, page, complaints } = await world.enter(browser, options)
      const wrong: string[] = []
      for (const { path } of pages) {
        await page.goto(world.addressOf(path))
        await settle(page)
        const found = [...complaints.splice(0), ...(await findings(page))]
        const isWide = await page.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth')
        wrong.push(...[...found, ...(isWide ? ['scrolls sideways'] : [])].map((one) => `${path}: ${one}`))
      }
      await context.close()
      expect(wrong).toEqual([])
    }, 240_000)

    it('the way in', async () => {
      const context = await browser.newContext(options)
      const page = await context.newPage()
      const wrong: string[] = []
      for (const path of ['/', '/sign-up', '/invitation']) {
        await page.goto(`${world.service.url}/console${path}`)
        await settle(page)
        wrong.push(...(await findings(page)).map((one) => `${path}: ${one}`))
      }
      await context.close()
      expect(wrong).toEqual([])
    })
  })
})

/** Chromium and axe, for the tests of the console, for `npm run look` and for the pictures of the README. */
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, join } from 'node:path'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

/** CHROMIUM_PATH, or a Chromium on the PATH; null when there is none. */
export function chromiumPath(): string | null {
  const named = process.env['CHROMIUM_PATH']
  if (named) return named
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  return folders.flatMap((folder) => NAMES.map((name) => join(folder, name))).find((file) => existsSync(file)) ?? null
}

export async function openBrowser(): Promise<Browser> {
  const executablePath = chromiumPath()
  if (executablePath === null) throw new Error('There is no Chromium. Install one (apt-get install chromium), or name it in CHROMIUM_PATH.')
  // Containers run as root, where Chromium has no sandbox.
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage', '--force-color-profile=srgb'] })
}

/** The three ways in which every page is looked at. */
export const LOOKS = {
  desktop: { viewport: { width: 1440, height: 900 }, colorScheme: 'light', locale: 'es-MX' },
  phone: { viewport: { width: 390, height: 844 }, colorScheme: 'light', locale: 'es-MX', isMobile: true, hasTouch: true },
  dark: { viewport: { width: 1440, height: 900 }, colorScheme: 'dark', locale: 'es-MX' },
} as const satisfies Record<string, BrowserContextOptions>

/** What a page complains of: errors of its script, of the policy, and requests to another origin. */
export function listen(page: Page, origin: string): string[] {
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`))
  page.on('console', (message) => {
    // A refusal of the API is shown on the page, and Chromium reports it here as well.
    if (message.type() === 'error' && !/Failed to load resource/.test(message.text())) complaints.push(`console: ${message.text()}`)
  })
  page.on('request', (request) => {
    if (!request.url().startsWith(origin) && !/^(data|blob):/.test(request.url())) complaints.push(`foreign: ${request.url()}`)
  })
  return complaints
}

/** What runs in the page: Node's types do not know it. */
interface InPage {
  document: { querySelector(selector: string): unknown; fonts: { ready: Promise<unknown> } }
  axe: { run(): Promise<{ violations: { id: string; nodes: { target: unknown[]; failureSummary?: string }[] }[] }> }
}

/** Waits until a page has loaded what it shows. */
export async function settle(page: Page): Promise<void> {
  await page.locator('main').waitFor()
  const isLoaded = () => !(globalThis as unknown as InPage).document.querySelector('main [role=status][aria-label]:has(i)')
  await page.waitForFunction(isLoaded, undefined, { timeout: 20_000 })
  await page.evaluate(() => (globalThis as unknown as InPage).document.fonts.ready.then(() => null))
  await page.waitForTimeout(150)
}

/** Opens a sign-in link, and agrees to whom it signs in. */
export async function followLink(page: Page, link: string): Promise<void> {
  await page.goto(link)
  await page.getByRole('button', { name: /^(Entrar a|Sign in to) / }).click()
  await page.locator('#menu').waitFor({ state: 'attached' })
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** What axe finds wrong with a page: rule and element, one a line. */
export async function findings(page: Page): Promise<string[]> {
  // Over the protocol, which the policy of the page does not hold back.
  await page.evaluate(AXE)
  return page.evaluate(async () => {
    const { violations } = await (globalThis as unknown as InPage).axe.run()
    return violations.flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id}: ${String(target)}: ${(failureSummary ?? '').split('\n')[1]?.trim() ?? ''}`),
    )
  })
}

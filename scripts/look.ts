/**
 * `npm run look -- {url} {api_key}:{api_secret} {folder} {path}…`: opens pages of the console in Chromium, as on a desktop, on a phone and in
 * the dark, writes a picture of each into the folder, and says what axe and the browser complain of.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { findings, followLink, LOOKS, listen, openBrowser, settle } from './browser.ts'

const [url, credential, folder, ...paths] = process.argv.slice(2)
if (!url || !credential || !folder || paths.length === 0) {
  console.error('Usage: npm run look -- http://127.0.0.1:8787 {api_key}:{api_secret} {folder} / /cfdi …')
  process.exit(1)
}

/** Each look has a session of its own, from a link that works once. */
async function link(): Promise<string> {
  const answer = await fetch(`${url}/console/links`, { method: 'POST', headers: { authorization: `Basic ${btoa(credential!)}` } })
  if (!answer.ok) throw new Error(await answer.text())
  return ((await answer.json()) as { url: string }).url
}

mkdirSync(folder, { recursive: true })
const browser = await openBrowser()
try {
  for (const [look, options] of Object.entries(LOOKS)) {
    const context = await browser.newContext(options)
    const page = await context.newPage()
    const complaints = listen(page, url)
    await followLink(page, await link())
    for (const path of paths) {
      await page.goto(`${url}/console${path}`)
      await settle(page)
      const name = `${path.replace(/[^\w-]+/g, '-').replace(/^-|-$/g, '') || 'home'}-${look}.png`
      await page.screenshot({ path: join(folder, name), fullPage: true })
      for (const line of [...complaints.splice(0), ...(await findings(page))]) {
        console.log(`${path} (${look}): ${line}`)
        process.exitCode = 1
      }
    }
    await context.close()
  }
} finally {
  await browser.close()
}

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { buildConsole, consoleFiles } from './console.ts'
import { wrangler } from './wrangler.ts'

/** A bundle above this is a mistake. No smaller size decides what the code looks like. */
const LARGEST_KIB = 2_048

/** Builds the Worker as a deployment does (`minify` and `upload_source_maps` of wrangler.toml) and returns the size of its modules, in KiB. */
async function sizeOfWorker(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'size-'))
  try {
    await wrangler('deploy', '--dry-run', '--env', '', '--outdir', folder)
    const files = readdirSync(folder).filter((name) => !name.endsWith('.map') && name !== 'README.md')
    if (files.length === 0) throw new Error('The Worker has no bundle.')
    return files.reduce((sum, name) => sum + gzipSync(readFileSync(join(folder, name))).length, 0) / 1024
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const kib = await sizeOfWorker()
console.log(`The Worker has ${kib.toFixed(1)} KiB compressed with gzip. The limit is ${LARGEST_KIB} KiB.`)
if (kib > LARGEST_KIB) process.exitCode = 1

const KIB = 1024
const zipped = (files: readonly { content: Buffer }[]): number => files.reduce((sum, { content }) => sum + gzipSync(content).length, 0)

/** What a browser loads of the console. Fonts are compressed already. */
function consoleParts(): { what: string; kib: number; limit: number }[] {
  const { page, files } = consoleFiles()
  const of = (ending: string) => files.filter(({ name }) => name.endsWith(ending))
  const isFirst = ({ name }: { name: string }) => page.includes(name)
  const fonts = of('.woff2')
  return [
    { what: 'first script', kib: zipped(of('.js').filter(isFirst)) / KIB, limit: 48 },
    { what: 'style', kib: zipped(of('.css')) / KIB, limit: 10 },
    ...of('.js')
      .filter((file) => !isFirst(file))
      .map((file) => ({ what: `chunk ${file.name}`, kib: zipped([file]) / KIB, limit: file.name.startsWith('sheet-') ? 24 : 16 })),
    ...fonts.map(({ name, content }) => ({ what: `font ${name}`, kib: content.length / KIB, limit: fonts.length === 1 ? 30 : 0 })),
  ]
}

await buildConsole()
const parts = consoleParts()
const largest = parts.filter(({ what }) => what.startsWith('chunk')).sort((a, b) => b.kib - a.kib)[0]
for (const one of parts) {
  const { what, kib, limit } = one
  if (kib > limit) process.exitCode = 1
  if (kib > limit || one === largest || !what.startsWith('chunk'))
    console.log(`Of the console, the ${what} has ${kib.toFixed(1)} KiB compressed with gzip. The limit is ${limit} KiB.`)
}

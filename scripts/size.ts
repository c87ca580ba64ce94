import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { wrangler } from './wrangler.ts'

const LIMIT_KIB = 350

/** Builds the Worker as a deployment does (`minify` and `upload_source_maps` of wrangler.toml) and compares its size with the limit. */

const folder = mkdtempSync(join(tmpdir(), 'size-'))
try {
  await wrangler('deploy', '--dry-run', '--outdir', folder)
  const files = readdirSync(folder).filter((name) => !name.endsWith('.map') && name !== 'README.md')
  const kib = files.reduce((sum, name) => sum + gzipSync(readFileSync(join(folder, name))).length, 0) / 1024
  console.log(`The bundle has ${kib.toFixed(1)} KiB compressed with gzip. The limit is ${LIMIT_KIB} KiB.`)
  if (files.length === 0 || kib > LIMIT_KIB) process.exitCode = 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}

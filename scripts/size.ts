import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { writeBackground, writeSurfaces } from './configurations.ts'
import { wrangler } from './wrangler.ts'

/** The Workers whose start customers wait for, with the configuration of each and the most KiB that its bundle may have. */
const BUNDLES = [
  { what: 'answers requests', config: 'wrangler.toml', limit: 300 },
  { what: 'answers what is computed from many documents', config: writeSurfaces(), limit: 240 },
  { what: 'does background work', config: writeBackground(), limit: 280 },
]

/** Builds a Worker as a deployment does (`minify` and `upload_source_maps` of wrangler.toml) and returns the size of its bundle, in KiB. */
async function sizeOf(config: string): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'size-'))
  try {
    await wrangler('deploy', '--dry-run', '--config', config, '--outdir', folder)
    const files = readdirSync(folder).filter((name) => !name.endsWith('.map') && name !== 'README.md')
    if (files.length === 0) throw new Error(`${config} has no bundle.`)
    return files.reduce((sum, name) => sum + gzipSync(readFileSync(join(folder, name))).length, 0) / 1024
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

for (const { what, config, limit } of BUNDLES) {
  const kib = await sizeOf(config)
  console.log(`The bundle of the Worker that ${what} has ${kib.toFixed(1)} KiB compressed with gzip. The limit is ${limit} KiB.`)
  if (kib > limit) process.exitCode = 1
}

import { createHash } from 'node:crypto'

/** A copy that a connector made. Paths are relative to its prefix. */
export interface MirrorCopy {
  read(path: string): Promise<Uint8Array | null>
  /** How many manifests a folder of one day has at most. Without it, its manifests are read until one is not there. */
  lastManifest?(folder: string): number
}

interface Line {
  sha256: string
  path: string
}

/** What a verification found. */
export interface Verification {
  manifests: number
  /** Paths that the manifests list. */
  listed: number
  missing: string[]
  /** Paths whose content has another SHA-256 than the last manifest that lists them says. */
  different: string[]
  /** Manifests, or lines of them, that cannot be read. */
  unreadable: string[]
}

const READS_AT_ONCE = 8
const DAY_MS = 86_400_000

/** The days from one to another, both `YYYY-MM-DD` and inclusive. */
export function daysBetween(first: string, last: string): string[] {
  const count = Math.floor((Date.parse(last) - Date.parse(first)) / DAY_MS) + 1
  return Array.from({ length: Math.max(0, count) }, (_, n) => new Date(Date.parse(first) + n * DAY_MS).toISOString().slice(0, 10))
}

/** Where the nth manifest of a connector's day is, as the service writes it (src/storage/mirror/manifest.ts). */
const manifestPath = (folder: string, n: number): string => `${folder}/manifest${n === 1 ? '' : `-${n}`}.jsonl`

/** Checks a copy against the manifests of connectors of these days, in their order: of a path that is listed twice, the last line counts. */
export async function verifyCopy(copy: MirrorCopy, connectors: readonly string[], days: readonly string[]): Promise<Verification> {
  const expected = new Map<string, string>()
  const found: Verification = { manifests: 0, listed: 0, missing: [], different: [], unreadable: [] }
  for (const folder of days.flatMap((day) => connectors.map((connector) => `manifests/${connector}/${day}`)))
    for (let n = 1, last = copy.lastManifest?.(folder); last === undefined || n <= last; n++) {
      const path = manifestPath(folder, n)
      const bytes = await copy.read(path)
      if (bytes === null && last === undefined) break
      if (bytes === null) continue
      found.manifests++
      for (const [at, text] of new TextDecoder().decode(bytes).trimEnd().split('\n').entries()) {
        const line = parsed(text)
        if (line) expected.set(line.path, line.sha256)
        else found.unreadable.push(`${path}:${at + 1}`)
      }
    }
  found.listed = expected.size
  const rest = expected.entries()
  const checkRest = async (): Promise<void> => {
    for (const [path, sha256] of rest) {
      const bytes = await copy.read(path)
      if (bytes === null) found.missing.push(path)
      else if (createHash('sha256').update(bytes).digest('hex') !== sha256) found.different.push(path)
    }
  }
  await Promise.all(Array.from({ length: READS_AT_ONCE }, checkRest))
  return found
}

function parsed(text: string): Line | undefined {
  try {
    const { sha256, path } = JSON.parse(text) as Partial<Line>
    return typeof sha256 === 'string' && typeof path === 'string' ? { sha256, path } : undefined
  } catch {
    return undefined
  }
}

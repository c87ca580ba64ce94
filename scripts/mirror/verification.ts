import { createHash } from 'node:crypto'

/** A copy that a connector made. Paths are relative to its prefix. */
export interface MirrorCopy {
  read(path: string): Promise<Uint8Array | null>
}

/** A manifest that must be there, with the SHA-256 that it must have; null when nobody says it. */
export interface Manifest {
  path: string
  sha256: string | null
}

/** The first and the last day of the manifests that are checked, `YYYY-MM-DD`. */
export interface Days {
  since: string
  until: string
}

/** What a verification found. */
export interface Verification {
  manifests: number
  /** Paths that the manifests list. */
  listed: number
  /** Paths of objects and of manifests. */
  missing: string[]
  /** Paths whose content has another SHA-256 than the last manifest that lists them says, or than the one after a manifest says. */
  different: string[]
  /** Manifests, or lines of them, that cannot be read. */
  unreadable: string[]
}

const READS_AT_ONCE = 8

/** A manifest's place in their order: its day, and its number of that day. */
const MANIFEST = /^manifests\/[^/]+\/(\d{4}-\d\d-\d\d)\/manifest(?:-(\d{1,6}))?\.jsonl$/
export const dayOf = (path: string): string => MANIFEST.exec(path)?.[1] ?? ''
const orderOf = (path: string): string => `${dayOf(path)} ${(MANIFEST.exec(path)?.[2] ?? '1').padStart(6, '0')}`

/** What a connector says of its last manifest; undefined for anything else. */
export function manifestIn(value: unknown): Manifest | undefined {
  const { path, sha256 } = (value ?? {}) as Partial<Manifest>
  return typeof path === 'string' && MANIFEST.test(path) && typeof sha256 === 'string' ? { path, sha256 } : undefined
}

/** The last manifest of a connector, as the destination itself names it. Undefined when it does not. */
export async function latestOf(copy: MirrorCopy, connector: string): Promise<Manifest | undefined> {
  const bytes = await copy.read(`manifests/${connector}/latest.json`)
  return manifestIn(bytes && parsed(new TextDecoder().decode(bytes)))
}

/**
 * Checks a copy against these manifests and those before them, each of which the next one names, as far as they are of these days. Lines
 * count in the order of the manifests: of a path that is listed twice, the last line does.
 */
export async function verifyCopy(copy: MirrorCopy, known: readonly Manifest[], { since, until }: Days): Promise<Verification> {
  const found: Verification = { manifests: 0, listed: 0, missing: [], different: [], unreadable: [] }
  const read = new Map<string, { sha256: string; lines: unknown[] } | null>()
  const different = new Set<string>()
  for (const wanted = [...known]; wanted.length > 0; ) {
    const { path, sha256 } = wanted.pop()!
    if (dayOf(path) < since) continue
    const isNew = !read.has(path)
    if (isNew) read.set(path, await readManifest(copy, path))
    const manifest = read.get(path)
    if (manifest && sha256 !== null && manifest.sha256 !== sha256) different.add(path)
    const previous = isNew && manifest && manifestIn((manifest.lines.at(-1) as { previous?: unknown } | undefined)?.previous)
    if (previous) wanted.push(previous)
  }
  const expected = new Map<string, string>()
  for (const [path, manifest] of [...read].sort(([a], [b]) => (orderOf(a) < orderOf(b) ? -1 : 1))) {
    if (manifest === null) found.missing.push(path)
    if (manifest === null || dayOf(path) > until) continue
    found.manifests++
    const end = manifest.lines.at(-1) as { lines?: unknown } | undefined
    const isWhole = typeof end?.lines === 'number'
    if (!isWhole) found.unreadable.push(`${path}: its end is missing.`)
    else if (end.lines !== manifest.lines.length - 1)
      found.unreadable.push(`${path}: it has ${manifest.lines.length - 1} lines and not ${end.lines}.`)
    for (const [at, line] of (isWhole ? manifest.lines.slice(0, -1) : manifest.lines).entries()) {
      const { path: of, sha256 } = (line ?? {}) as Partial<Manifest>
      if (typeof of === 'string' && typeof sha256 === 'string') expected.set(of, sha256)
      else found.unreadable.push(`${path}:${at + 1}`)
    }
  }
  found.listed = expected.size
  const rest = expected.entries()
  const checkRest = async (): Promise<void> => {
    for (const [path, sha256] of rest) {
      const bytes = await copy.read(path)
      if (bytes === null) found.missing.push(path)
      else if (sha256Of(bytes) !== sha256) different.add(path)
    }
  }
  await Promise.all(Array.from({ length: READS_AT_ONCE }, checkRest))
  found.different.push(...different)
  return found
}

const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

async function readManifest(copy: MirrorCopy, path: string): Promise<{ sha256: string; lines: unknown[] } | null> {
  const bytes = await copy.read(path)
  return bytes && { sha256: sha256Of(bytes), lines: new TextDecoder().decode(bytes).trimEnd().split('\n').map(parsed) }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

import { withRepair } from '../chunks/content.ts'
import { relatedOf } from './applications.ts'
import type { Incoming } from './apply-changes.ts'
import { type AffectedRows, MOST_RELATIONS } from './reads.ts'

/**
 * How many payments and credit notes may act on one document. Real invoices are paid some hundreds of times at the most; a global invoice can
 * have more returns.
 */
const MOST_APPLIED = 2_000
/**
 * That number, times the documents that the largest of them names: as many rows are read when that one comes or goes. So a document of 10,000
 * can be one of three for each of them, and one of 1,000 one of thirty.
 */
const MOST_TOGETHER = 30_000
/** How many relations 04, or 07, may lead to each other. Real ones are a few. */
const MOST_LINKED = 4_000

/**
 * Leaves out what documents of a slice name beyond these limits: otherwise each of many documents that name the same thousands would take
 * longer than the one before. Returns the UUIDs of the documents that have lost something, and notes it in them.
 */
export function cutRelations(
  documents: readonly Incoming[],
  { applications, substitutions, advances }: Pick<AffectedRows, 'applications' | 'substitutions' | 'advances'>,
): string[] {
  const isApplicable = applicable(applications)
  const isSubstitutable = linkable(substitutions.map(({ substituted, source }) => [substituted, source]))
  const isAdvance = linkable(advances.map(({ advance, source }) => [advance, source]))
  return documents.flatMap((document) => {
    const { uuid } = document.row
    const names = new Set(document.applications.map(({ invoice }) => invoice)).size
    const kept = {
      applications: document.applications.filter(({ invoice }) => isApplicable(invoice, names)),
      substitutes: document.substitutes.filter((named) => isSubstitutable(uuid, named)),
      advances: document.advances.filter((named) => isAdvance(uuid, named)),
    }
    if ((['applications', 'substitutes', 'advances'] as const).every((name) => kept[name].length === document[name].length)) return []
    cutTo(document, kept)
    return [uuid]
  })
}

/** Leaves of a document what it names only these relations. */
export function cutTo(document: Incoming, kept: Pick<Incoming, 'applications' | 'substitutes' | 'advances'>): void {
  Object.assign(document, kept)
  document.row.related = relatedOf(kept.applications)
  if (document.content !== null) document.content = withRepair(document.content, 'related_cut')
}

/** Says whether one more document, which names so many, may be applied to an invoice. */
function applicable(stored: AffectedRows['applications']): (invoice: string, names: number) => boolean {
  const applied = new Map<string, { count: number; most: number }>()
  const added = (invoice: string, names: number) => {
    const { count, most } = applied.get(invoice) ?? { count: 0, most: 0 }
    return { count: count + 1, most: Math.max(most, names) }
  }
  for (const { invoice, names } of stored) applied.set(invoice, added(invoice, names))
  return (invoice, names) => {
    const after = added(invoice, names)
    const isWithin = after.count <= MOST_APPLIED && after.count * after.most <= MOST_TOGETHER
    if (isWithin) applied.set(invoice, after)
    return isWithin
  }
}

/** Says whether a document may name another one, by how many relations then lead to each other. */
function linkable(stored: readonly (readonly [named: string, source: string])[]): (source: string, named: string) => boolean {
  // There may be more.
  if (stored.length >= MOST_RELATIONS) return () => false
  const next = new Map<string, string>()
  const sizes = new Map<string, number>()
  const rootOf = (uuid: string): string => {
    let root = uuid
    for (let one = next.get(root); one !== undefined; one = next.get(root)) root = one
    if (root !== uuid) next.set(uuid, root)
    return root
  }
  const link = (source: string, named: string, most: number): boolean => {
    const [a, b] = [rootOf(source), rootOf(named)]
    const size = (sizes.get(a) ?? 0) + (a === b ? 0 : (sizes.get(b) ?? 0)) + 1
    if (size > most) return false
    if (a !== b) next.set(b, a)
    sizes.set(a, size)
    return true
  }
  for (const [named, source] of stored) link(source, named, Number.POSITIVE_INFINITY)
  return (source, named) => link(source, named, MOST_LINKED)
}

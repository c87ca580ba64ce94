import { withRepair } from '../chunks/content.ts'
import { relatedOf } from './applications.ts'
import type { Incoming, SliceChanges } from './apply-changes.ts'
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
/** How many relations 04 may lead to each other, and how many relations 07. Real ones are a few; an advance can have hundreds of invoices and notes. */
const MOST_SUBSTITUTIONS = 200
const MOST_ADVANCES = 1_000
/**
 * How many documents one invoice or credit note may name by 07. Real ones name a few. Each of them becomes a row that figures on a cash basis
 * read, and for a note its taxes beside it.
 */
export const MOST_NAMED = 100

/**
 * Leaves out what documents of a slice name beyond these limits: otherwise each of many documents that name the same thousands would take
 * longer than the one before. Returns the UUIDs of the documents that have lost something, and notes it in them.
 */
export function cutRelations(
  changes: Pick<SliceChanges, 'created' | 'completed'>,
  { applications, substitutions, advances }: Pick<AffectedRows, 'applications' | 'substitutions' | 'advances'>,
): string[] {
  const isApplicable = applicable(applications)
  const isSubstitutable = linkable(
    substitutions.map(({ substituted, source }) => [substituted, source]),
    MOST_SUBSTITUTIONS,
  )
  const isAdvance = linkable(
    advances.map(({ advance, source }) => [advance, source]),
    MOST_ADVANCES,
  )
  return cutEach(changes, ({ row: { uuid }, ...document }) => {
    const names = new Set(document.applications.map(({ invoice }) => invoice)).size
    return {
      applications: document.applications.filter(({ invoice }) => isApplicable(invoice, names)),
      substitutes: document.substitutes.filter((named) => isSubstitutable(uuid, named)),
      advances: document.advances.filter((named) => isAdvance(uuid, named)),
    }
  })
}

/** The same for what a document names by 07, which does not depend on others: it is left out before anything is read for it. */
export const cutAdvances = (changes: Pick<SliceChanges, 'created' | 'completed'>): string[] =>
  cutEach(changes, ({ applications, advances }) => {
    const beyond = new Set(advances.slice(MOST_NAMED))
    return { applications: applications.filter(({ invoice }) => !beyond.has(invoice)), advances: advances.slice(0, MOST_NAMED) }
  })

type Relations = Pick<Incoming, 'applications' | 'substitutes' | 'advances'>

/** Leaves some relations of each document. The documents are copied, but for their rows, because a retry begins with all relations. */
export function cutEach(
  changes: Pick<SliceChanges, 'created' | 'completed'>,
  keptOf: (document: Incoming) => Pick<Incoming, 'applications'> & Partial<Relations>,
): string[] {
  const cut: string[] = []
  const left = (document: Incoming): Incoming => {
    const after = { ...document, ...keptOf(document) }
    after.row.related = relatedOf(after.applications)
    if ((['applications', 'substitutes', 'advances'] as const).every((name) => after[name].length === document[name].length)) return after
    cut.push(after.row.uuid)
    return { ...after, content: after.content && withRepair(after.content, 'related_cut') }
  }
  changes.created = changes.created.map(left)
  changes.completed = changes.completed.map(left)
  return cut
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
function linkable(stored: readonly (readonly [named: string, source: string])[], most: number): (source: string, named: string) => boolean {
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
  const link = (source: string, named: string, limit: number): boolean => {
    const [a, b] = [rootOf(source), rootOf(named)]
    const size = (sizes.get(a) ?? 0) + (a === b ? 0 : (sizes.get(b) ?? 0)) + 1
    if (size > limit) return false
    if (a !== b) next.set(b, a)
    sizes.set(a, size)
    return true
  }
  for (const [named, source] of stored) link(source, named, Number.POSITIVE_INFINITY)
  return (source, named) => link(source, named, most)
}

/** What decides whether one document substitutes another. */
export interface Substitutable {
  uuid: string
  emisor_rfc: string
  receptor_rfc: string
  /** Seconds since 1970. */
  issued_at: number
  cancelled: 0 | 1
}

/** A relation 04: the document `source` states that it substitutes another one. */
export interface Substitution {
  substituted: string
  source: string
}

/** The place of a document among substitutions. A reader knows of it with a ceiling from these instants on, in seconds. Null: never. */
export interface SubstitutionState {
  /** Another document substitutes this one, which therefore does not count. */
  substituted_from: number | null
  /** This document substitutes another one that is still valid. */
  substitutes_from: number | null
}

export const NOT_SUBSTITUTED: SubstitutionState = { substituted_from: null, substitutes_from: null }

/** Whether a reader with this ceiling, in seconds, knows that a document is substituted. Null: without a ceiling. */
export const isSubstituted = ({ substituted_from }: Pick<SubstitutionState, 'substituted_from'>, until: number | null): boolean =>
  isKnown(substituted_from, until)

/** Whether a document and one that it substitutes, or that substitutes it, are both valid, as far as a ceiling shows. */
export const isSubstitutedNotCancelled = (state: SubstitutionState, until: number | null): boolean =>
  isSubstituted(state, until) || isKnown(state.substitutes_from, until)

const isKnown = (from: number | null, until: number | null): boolean => from !== null && (until === null || from <= until)

/**
 * Computes which of these documents do not count because others substitute them. A document does not count while a valid document with the
 * same issuer and receiver names it in a relation 04. Source: decisions.md 7.
 *
 * - Chain: C substitutes B, and B substitutes A. Only C counts. When C is cancelled, B counts. When B is cancelled, A counts beside C,
 *   because C does not name it.
 * - Cycle: documents that substitute each other, directly or through others, are one. A valid document outside the cycle that substitutes
 *   any of them substitutes them all; without one, the newest of them counts (by issued_at, then by UUID).
 * - A document that names itself substitutes nothing.
 *
 * With a ceiling, the same holds of the documents that were issued up to it. A document that is substituted for one ceiling is so for all
 * later ones, so that one instant says it all.
 */
export function substitutionsAmong(documents: Iterable<Substitutable>, relations: readonly Substitution[]): Map<string, SubstitutionState> {
  const all = new Map([...documents].map((document) => [document.uuid, document]))
  const states = new Map([...all.keys()].map((uuid) => [uuid, { ...NOT_SUBSTITUTED }]))
  const sources = new Map<Substitutable, Substitutable[]>()
  for (const relation of relations) {
    const [source, substituted] = [all.get(relation.source), all.get(relation.substituted)]
    if (source === undefined || substituted === undefined || !isValid(source, substituted)) continue
    sources.set(substituted, [...(sources.get(substituted) ?? []), source])
    const state = states.get(source.uuid)!
    state.substitutes_from = Math.min(state.substitutes_from ?? substituted.issued_at, substituted.issued_at)
  }
  /** What substitutes a document, directly or through others. In a cycle the document itself is among it. */
  const successors = (document: Substitutable, until: number): Set<Substitutable> => {
    const found = new Set<Substitutable>()
    const next = [document]
    for (let one = next.pop(); one !== undefined; one = next.pop())
      for (const source of sources.get(one) ?? [])
        if (source.issued_at <= until && !found.has(source)) {
          found.add(source)
          next.push(source)
        }
    return found
  }
  const isSubstitutedAt = (document: Substitutable, until: number): boolean =>
    [...successors(document, until)].some((one) => isNewer(one, document) || !successors(one, until).has(document))
  for (const [document, direct] of sources) {
    // Only an older document can close a cycle in which this one is the newest.
    const isPlain = direct.every((one) => isNewer(one, document))
    const later = isPlain ? direct : successors(document, Number.POSITIVE_INFINITY)
    const instants = [...later].map(({ issued_at }) => Math.max(issued_at, document.issued_at)).sort((a, b) => a - b)
    const from = instants.find((until) => isPlain || isSubstitutedAt(document, until))
    states.get(document.uuid)!.substituted_from = from ?? null
  }
  return states
}

const isValid = (source: Substitutable, substituted: Substitutable): boolean =>
  source !== substituted &&
  source.cancelled + substituted.cancelled === 0 &&
  source.emisor_rfc === substituted.emisor_rfc &&
  source.receptor_rfc === substituted.receptor_rfc

const isNewer = (a: Substitutable, b: Substitutable): boolean => (a.issued_at === b.issued_at ? a.uuid > b.uuid : a.issued_at > b.issued_at)

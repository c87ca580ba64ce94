import { Failure } from '../../failures.ts'
import type { Route } from './openapi.ts'

interface Known {
  segments: string[]
  methods: Map<string, { isPublic: boolean }>
  pattern: string
}

export interface Matched {
  pattern: string
  isPublic: boolean
  params: Record<string, string>
}

const segmentsOf = (path: string): string[] => path.split('/').slice(1)

const isPublic = ({ clauses }: Route): boolean => clauses.some(({ operation }) => operation?.isPublic)

/** As Hono reads it for the handler, so that both speak of the same thing. */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

function bind(known: Known, segments: string[]): Record<string, string> | undefined {
  if (known.segments.length !== segments.length) return undefined
  const params: Record<string, string> = {}
  for (const [at, expected] of known.segments.entries()) {
    const found = segments[at]!
    if (expected.startsWith(':') && found !== '') params[expected.slice(1)] = decoded(found)
    else if (expected !== found) return undefined
  }
  return params
}

/**
 * Knows every route before authentication does: an unknown path is 404 and a wrong method 405 whoever asks (decisions.md 3).
 * Literal paths come before those with parameters.
 */
export function routing(routes: readonly Route[]): (method: string, path: string) => Matched {
  const known = new Map<string, Known>()
  for (const route of routes) {
    const one = known.get(route.path) ?? { segments: segmentsOf(route.path), methods: new Map(), pattern: route.path }
    one.methods.set(route.method, { isPublic: isPublic(route) })
    known.set(route.path, one)
  }
  const ordered = [...known.values()].sort((a, b) => Number(a.pattern.includes(':')) - Number(b.pattern.includes(':')))
  return (method, path) => {
    const segments = segmentsOf(path)
    const wanted = method === 'HEAD' ? 'GET' : method
    const allowed = new Set<string>()
    for (const one of ordered) {
      const params = bind(one, segments)
      if (!params) continue
      const found = one.methods.get(wanted)
      if (found) return { pattern: one.pattern, isPublic: found.isPublic, params }
      for (const right of one.methods.keys()) allowed.add(right)
    }
    const allow = [...allowed].sort()
    if (allow.length > 0)
      throw new Failure('method_not_allowed', 'request.method_not_allowed', `Allowed here: ${allow.join(', ')}.`, { allow })
    throw new Failure('not_found', 'request.unknown_path', 'There is nothing at this path.')
  }
}

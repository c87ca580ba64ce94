import { type Arrow, arrowsOf, domainOf, type Tree } from './tree.ts'

type Graph = ReadonlyMap<string, ReadonlySet<string>>

/** A shortest way from a node back to itself. */
function circleThrough(start: string, graph: Graph): string[] | undefined {
  const cameFrom = new Map<string, string>()
  const queue = [start]
  for (const node of queue)
    for (const next of graph.get(node) ?? []) {
      if (next === start) {
        const way = [start]
        for (let at = node; at !== start; at = cameFrom.get(at)!) way.unshift(at)
        return [start, ...way]
      }
      if (!cameFrom.has(next)) {
        cameFrom.set(next, node)
        queue.push(next)
      }
    }
  return undefined
}

/** Circles that have no node in common; each is named once, by a shortest way around. */
function circlesOf(graph: Graph): string[][] {
  const seen = new Set<string>()
  const circles: string[][] = []
  for (const node of [...graph.keys()].sort()) {
    if (seen.has(node)) continue
    const circle = circleThrough(node, graph)
    if (circle === undefined) continue
    circles.push(circle)
    for (const one of circle) seen.add(one)
  }
  return circles
}

function graphOf(steps: Iterable<readonly [string, string]>): Graph {
  const graph = new Map<string, Set<string>>()
  for (const [from, to] of steps) if (from !== to) (graph.get(from) ?? graph.set(from, new Set()).get(from)!).add(to)
  return graph
}

const withinTree = (tree: Tree): Arrow[] => arrowsOf(tree).filter(({ to }) => to in tree)

/** Files that import each other in a circle, by value or by type. */
export const circlesOfFiles = (tree: Tree): string[] =>
  circlesOf(graphOf(withinTree(tree).map(({ from, to }) => [from, to] as const))).map(
    (way) => `${way.join(' → ')}: these files import each other in a circle`,
  )

/** Rooms that import each other in a circle, with an arrow of the files for each step. */
export function circlesOfRooms(tree: Tree): string[] {
  const steps = withinTree(tree).flatMap((arrow) => {
    const [from, to] = [domainOf(arrow.from), domainOf(arrow.to)]
    return from === undefined || to === undefined ? [] : [{ arrow, rooms: [from, to] as const }]
  })
  return circlesOf(graphOf(steps.map(({ rooms }) => rooms))).map((way) => {
    const proof = way.slice(1).map((room, n) => steps.find(({ rooms }) => rooms[0] === way[n] && rooms[1] === room)!.arrow)
    return `${proof.map(({ from, to }) => `${from} → ${to}`).join(', ')}: ${way.join(' → ')} is a circle of rooms`
  })
}

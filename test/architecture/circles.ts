import { type Arrow, arrowsOf, filesOf, folderOf, type Tree } from './tree.ts'

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

/** The floor of a folder that a file below it belongs to: a subfolder, or the folder's own files together. In src, each file is a floor. */
function floorOf(path: string, folder: string): string {
  const [first, ...rest] = path.slice(folder.length + 1).split('/')
  if (rest.length > 0) return `${folder}/${first}`
  return folder === 'src' ? path : `${folder}/*`
}

const foldersOf = (tree: Tree): string[] => {
  const folders = new Set<string>()
  for (const path of filesOf(tree)) for (let at = folderOf(path); at !== ''; at = folderOf(at)) folders.add(at)
  return [...folders].sort()
}

/** Floors of one folder that import each other in a circle, with an arrow of the files for each step. */
export function circlesOfFolders(tree: Tree): string[] {
  const arrows = withinTree(tree)
  return foldersOf(tree).flatMap((folder) => {
    const steps = arrows
      .filter(({ from, to }) => from.startsWith(`${folder}/`) && to.startsWith(`${folder}/`))
      .map((arrow) => ({ arrow, floors: [floorOf(arrow.from, folder), floorOf(arrow.to, folder)] as const }))
    return circlesOf(graphOf(steps.map(({ floors }) => floors))).map((way) => {
      const proof = way.slice(1).map((floor, n) => steps.find(({ floors }) => floors[0] === way[n] && floors[1] === floor)!.arrow)
      return `${proof.map(({ from, to }) => `${from} → ${to}`).join(', ')}: ${way.join(' → ')} is a circle of folders`
    })
  })
}

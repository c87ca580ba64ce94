/** A source tree: file contents by path, such as `src/app/app.ts`. */
export type Tree = Readonly<Record<string, string>>

export interface Arrow {
  from: string
  /** A path of the tree, or the name of a package. */
  to: string
  /** The import leaves nothing behind at run time. */
  isType: boolean
}

/** Generated from the configuration; it names the entry file and is no module that anybody imports. */
const GENERATED = 'src/bindings.d.ts'

export const filesOf = (tree: Tree): string[] => Object.keys(tree).filter((path) => path !== GENERATED)

export const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)
export const folderOf = (path: string): string => path.slice(0, path.lastIndexOf('/'))

/** The room, a top-level folder of src, that a file lies in; nothing for the files of src itself. */
export const domainOf = (path: string): string | undefined => /^src\/([^/]+)\//.exec(path)?.[1]

export const isStore = (path: string): boolean => /(^|[/-])store\.ts$/.test(path)
export const isTables = (path: string): boolean => nameOf(path) === 'tables.ts'
export const isRoutes = (path: string): boolean => /(^|[/-])routes\.ts$/.test(path)
export const isContract = (path: string): boolean => /(^|[/-])contract\.ts$/.test(path)

/** A source without its comments. Strings stay, because SQL is one. */
export const codeOf = (source: string): string =>
  source.replace(
    /("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)|\/\*[\s\S]*?\*\/|\/\/[^\n]*/g,
    (_, text?: string) => text ?? '',
  )

const IMPORT = /^(?:import|export)\s+(type\s)?(?:[^'"`;=]*?\sfrom\s+)?'([^']+)'|\bimport\('([^']+)'\)/gm

function resolve(from: string, specifier: string): string {
  if (!specifier.startsWith('.')) return specifier
  const path = folderOf(from).split('/')
  for (const step of specifier.split('/'))
    if (step === '..') path.pop()
    else if (step !== '.') path.push(step)
  return path.join('/')
}

/** Every import and re-export of a tree, of types too. */
export const arrowsOf = (tree: Tree): Arrow[] =>
  filesOf(tree).flatMap((from) =>
    [...codeOf(tree[from]!).matchAll(IMPORT)].map(([, type, named, dynamic]) => ({
      from,
      to: resolve(from, (named ?? dynamic)!),
      isType: type !== undefined,
    })),
  )

export interface Exported {
  path: string
  name: string
  isType: boolean
}

const EXPORT =
  /^export\s+(?:default\s+)?(?:declare\s+)?(?:abstract\s+)?(?:async\s+)?(interface|type|class|enum|function\*?|const|let)\s+(\w+)/gm

/** What the files of a tree declare and export by name. */
export const exportsOf = (tree: Tree): Exported[] =>
  filesOf(tree).flatMap((path) =>
    [...codeOf(tree[path]!).matchAll(EXPORT)].map(([, kind, name]) => ({
      path,
      name: name!,
      isType: /^(interface|type|class|enum)$/.test(kind!),
    })),
  )

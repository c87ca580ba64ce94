import { closeSync, existsSync, fstatSync, openSync, readSync, statSync } from 'node:fs'
import { stripVTControlCharacters } from 'node:util'

/** What a Worker says, behind its name or the mark of an error; what wrangler says would be every request a second time. */
const ofAWorker = (line: string): string | undefined => /^(?:\[[\w-]+\] |✘ \[ERROR\] )?(\{.*)/.exec(line)?.[1]
const isOfABuild = (line: string): boolean => /\[ERROR\]|Build failed|^ {2,}src\//.test(line)

/** Shows what the Worker says and what is wrong with its sources, as the log grows. */
export function follow(file: string, show: (line: string) => void): () => void {
  let at = existsSync(file) ? statSync(file).size : 0
  let rest = ''
  const look = () => {
    if (!existsSync(file)) return
    const log = openSync(file, 'r')
    try {
      const { size } = fstatSync(log)
      if (size < at) at = 0
      const news = Buffer.alloc(size - at)
      at += readSync(log, news, 0, news.length, at)
      const lines = (rest + news.toString('utf8')).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines.map(stripVTControlCharacters)) {
        const said = ofAWorker(line) ?? (isOfABuild(line) ? line : undefined)
        if (said !== undefined) show(said)
      }
    } finally {
      closeSync(log)
    }
  }
  const timer = setInterval(look, 250).unref()
  return () => {
    clearInterval(timer)
    look()
  }
}

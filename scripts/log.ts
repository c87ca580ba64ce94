import { closeSync, existsSync, fstatSync, openSync, readSync, statSync } from 'node:fs'
import { stripVTControlCharacters } from 'node:util'

/** A Worker's own JSON line, after its name or an error mark. Wrangler's lines would repeat every request. */
const ofAWorker = (line: string): string | undefined => /^(?:\[[\w-]+\] |✘ \[ERROR\] )?(\{.*)/.exec(line)?.[1]
const isOfABuild = (line: string): boolean => /\[ERROR\]|Build failed|^ {2,}src\//.test(line)

/** Shows the Worker's log lines and build errors as the log file grows. Returns a function that stops. */
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
        const shown = ofAWorker(line) ?? (isOfABuild(line) ? line : undefined)
        if (shown !== undefined) show(shown)
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

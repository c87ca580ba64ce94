import { closeSync, existsSync, fstatSync, openSync, readSync, statSync } from 'node:fs'

/** Wrangler's own remarks, which would say every request a second time. */
const isOfTheWorker = (line: string): boolean => line.startsWith('{')
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
      for (const line of lines) if (isOfTheWorker(line) || isOfABuild(line)) show(line)
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

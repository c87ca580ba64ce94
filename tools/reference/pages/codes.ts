import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../../../scripts/wrangler.ts'
import { STATUS } from '../../../src/platform/http/problem.ts'
import type { Recordings } from '../recordings.ts'

/** A code that requests are refused with. */
export interface ErrorCode {
  code: string
  status: number
  /** What the service says, in a recorded answer or in the code. */
  cause: string
}

/** Codes of operators' commands and of the fetcher's contract, which no customer meets. */
const isInternal = (path: string): boolean => /^(connections\/fetcher|accounts\/billing\/operator)\//.test(path)

const FAILURE = /new Failure\(\s*'(\w+)',\s*'([\w.]+)',\s*(?:(['`])((?:(?!\3)[^\\]|\\.)*)\3)?/g
const INVALID = /\binvalid\(\s*'([\w.]+)'/g
const QUOTA = /code: '(\w+\.plan_limit)'/g

const isKind = (kind: string): kind is keyof typeof STATUS => kind in STATUS

/** Every code in the source, by a look at where failures are made, and every code that the tests were answered with. */
export function errorCodes(recordings: Recordings): ErrorCode[] {
  const codes = new Map<string, ErrorCode>()
  const add = (code: string, status: number, cause: string): void => {
    const known = codes.get(code)
    if (!known || (known.cause === '' && cause !== '')) codes.set(code, { code, status, cause })
  }
  for (const { errors } of Object.values(recordings))
    for (const [status, bodies] of Object.entries(errors))
      for (const [code, body] of Object.entries(bodies)) {
        const { detail } = body as { detail: string | { message: string } }
        add(code, Number(status), typeof detail === 'string' ? detail : detail.message)
      }
  for (const path of readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' }).sort()) {
    if (!path.endsWith('.ts') || isInternal(path)) continue
    const text = readFileSync(join(ROOT, 'src', path), 'utf8')
    for (const [, kind, code, , message = ''] of text.matchAll(FAILURE))
      if (isKind(kind!)) add(code!, STATUS[kind], message.includes('${') ? '' : message.replaceAll("\\'", "'"))
    for (const [, code] of text.matchAll(INVALID)) add(code!, STATUS.invalid, '')
    for (const [, code] of text.matchAll(QUOTA)) add(code!, STATUS.conflict, '')
  }
  return [...codes.values()].filter(({ code }) => code !== 'internal').sort((one, other) => (one.code < other.code ? -1 : 1))
}

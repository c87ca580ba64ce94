import { expect } from 'vitest'
import { type Sent, send } from './wire.ts'

export interface Mistake {
  /** What somebody typed. */
  typed: string
  ask: () => readonly [method: string, path: string, sent?: Sent]
  status: number
  code: string
  /** Where it is wrong: the first of `errors`, with 422. */
  at?: string
  /** What is said of it: what is wrong, and what to do. */
  says: RegExp
}

/** Sends what was typed: the answer says what is wrong, where, and what to do. */
export async function expectNotified({ ask, status, code, at, says }: Mistake): Promise<void> {
  const answer = await send(...ask())
  expect([answer.status, answer.body.code], answer.text).toEqual([status, code])
  const { detail } = answer.body
  expect(typeof detail === 'string' ? detail : detail.message).toMatch(says)
  if (at !== undefined) expect(answer.body.errors[0].path).toBe(at)
  // No answer repeats a secret.
  expect(answer.text).not.toMatch(/fds_\w+_secret_\w{30}/)
}

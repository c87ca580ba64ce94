import { HonoBase, type HonoOptions } from 'hono/hono-base'
import { TrieRouter } from 'hono/router/trie-router'
import type { Env, Schema } from 'hono/types'

/** Hono with one router alone, which its `methodNotAllowed` needs anyway. */
export class Hono<E extends Env, S extends Schema = Record<never, never>, BasePath extends string = '/'> extends HonoBase<E, S, BasePath> {
  constructor(options: HonoOptions<E> = {}) {
    super({ router: new TrieRouter(), ...options })
  }
}

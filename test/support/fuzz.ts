import { inject } from 'vitest'

declare module 'vitest' {
  interface ProvidedContext {
    /** FUZZ of the environment: `full` in the long run. */
    fuzz: string
  }
}

const isFull = inject('fuzz') === 'full'

/** How much of something is tried: some with every run, more in the long one (`npm run test:long`). */
export const runs = (some: number, full: number): number => (isFull ? full : some)

/**
 * What is tried of a list: all in the long run, otherwise one in `every`, from the `from`th on. Tests that take turns with `from` try all
 * of the list between them.
 */
export const sample = <T>(list: readonly T[], every: number, from = 0): readonly T[] =>
  isFull ? list : list.filter((_, n) => n % every === from % every)

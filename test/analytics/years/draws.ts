import { type Random, random } from '../../../src/authority/sandbox/world/seed.ts'
import { circleOf, type Taxpayer, withCheckDigit } from '../../../src/authority/sandbox/world/taxpayers.ts'

/** What a seeded year draws from: its taxpayer, the parties that it deals with, and the random numbers of its seed. */
export interface Draws extends Random {
  rfc: string
  circle: ReturnType<typeof circleOf>
  publico: Taxpayer
  /** A key that no other document of the year has. */
  key(): string
}

/** A company in two years of three, otherwise a person; each seed has an RFC and parties of its own. */
export function drawsOf(seed: number): Draws {
  const draws = random(`insight|${seed}`)
  const two = (n: number) => String(n).padStart(2, '0')
  const stem = `${seed % 3 === 0 ? 'OAAA' : 'OAA'}${two(draws.int(70, 98))}${two(draws.int(1, 12))}${two(draws.int(1, 28))}${two(seed % 100)}`
  const rfc = withCheckDigit(stem)
  const circle = circleOf(rfc)
  const publico: Taxpayer = { ...circle.self, rfc: 'XAXX010101000', nombre: 'PUBLICO EN GENERAL', regimen: '616' }
  let count = 0
  return { ...draws, rfc, circle, publico, key: () => `insight|${seed}|${++count}` }
}

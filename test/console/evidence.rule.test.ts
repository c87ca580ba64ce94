import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { words } from '../../console/pages/insight/flagged/words.ts'

it('what a flag of a document rests on has a name in both languages', () => {
  const text = readFileSync('src/analytics/risk/risk.ts', 'utf8')
  const picked = [...text.matchAll(/\b(?:pick|uuids)\(([^)]*)\)/g)].flatMap(([, names]) =>
    [...names!.matchAll(/'(\w+)'/g)].map(([, name]) => name!),
  )
  const said = [...text.matchAll(/[({,] ?(\w+): (?:[a-z.]+\(|one\?|hit\.|since|\(Date|found)/g)].map(([, name]) => name!)
  const names = new Set([
    ...picked.filter((name) => name !== 'substitutes'),
    ...said.filter((name) => !['evidence', 'pesos'].includes(name)),
  ])
  expect(names.size).toBeGreaterThan(20)
  for (const { evidence } of Object.values(words)) expect([...names].filter((name) => !evidence[name])).toEqual([])
})

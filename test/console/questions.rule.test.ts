import { expect, it } from 'vitest'
import { words } from '../../console/pages/insight/deductions/words.ts'
import { QUESTIONS, REVIEW } from '../../src/analytics/deductions/uses.ts'

it('every reason for a review has its question, in the API and in both languages of the console', () => {
  for (const questions of [QUESTIONS, words.es.question, words.en.question]) {
    expect(Object.keys(questions).sort()).toEqual([...REVIEW].sort())
    expect(Object.values(questions).filter((text) => !text?.endsWith('?'))).toEqual([])
  }
})

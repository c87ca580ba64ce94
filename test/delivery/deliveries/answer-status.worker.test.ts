import { expect, it } from 'vitest'
import { outcomeOf } from '../../../src/delivery/deliveries/post.ts'
import { answerStatus } from '../../../src/platform/egress/answer-status.ts'

it.each([
  [400, '103', 103],
  [400, '600', 600],
  [400, '999', 999],
  [400, '200', 400],
  [400, '503', 400],
  [400, '1e3', 400],
  [500, '103', 500],
  [200, '103', 200],
])('a receiver that answers %i and claims %s changes nothing but the number of a refusal', (status, claimed, noted) => {
  const said = answerStatus(new Response(null, { status, headers: { 'egress-status': claimed } }))
  expect([said, outcomeOf(said)]).toEqual([noted, outcomeOf(status)])
})

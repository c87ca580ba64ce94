import { expect, it } from 'vitest'
import { ROUTES, send } from '../../support/wire.ts'

it('/llms.txt names every operation that customers have in live, and no other', async () => {
  const { status, headers, text } = await send('GET', '/llms.txt')
  expect([status, headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8'])
  const named = [...text.matchAll(/^- ([A-Z]+ \/\S*): \S/gm)].map(([, operation]) => operation)
  const served = ROUTES.map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`)
  expect(named).toEqual(served.filter((one) => !/ \/(v1\/test-helpers|fetcher)\//.test(one)))
})

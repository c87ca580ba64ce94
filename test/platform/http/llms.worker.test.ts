import { expect, it } from 'vitest'
import { ROUTES, send } from '../../support/wire.ts'

it('/llms.txt names every operation of customers, those of the sandbox alone apart, and guides that are there', async () => {
  const { status, headers, text } = await send('GET', '/llms.txt')
  expect([status, headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8'])
  const named = [...text.matchAll(/^- ([A-Z]+ \/\S*): \S/gm)].map(([, operation]) => operation)
  const served = ROUTES.map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`)
  const isHelper = (one: string): boolean => one.includes(' /v1/test-helpers/')
  expect(named).toEqual([...served.filter((one) => !/ \/(v1\/test-helpers|fetcher)\//.test(one)), ...served.filter(isHelper)])
  // Only below the heading that says where they are.
  expect(text.split('## Helpers of the sandbox')[0]).not.toContain('/v1/test-helpers/')
  const guides = [...text.matchAll(/\]\((\/docs\/[\w-]+)\)/g)].map(([, path]) => path!)
  expect(guides.length).toBeGreaterThan(7)
  for (const path of guides) expect((await send('GET', path)).status, path).toBe(200)
})

import { expect, it } from 'vitest'
import * as z from 'zod'
import { app } from '../../../src/app/app.ts'
import { integerParameter } from '../../../src/platform/http/shapes.ts'
import { jsonSchemaOf } from '../../../src/platform/http/validation/json-schema.ts'
import { nameOf, ROUTES } from '../../support/wire.ts'

it('no handler can be reached that does not begin with an operation, which authenticates', () => {
  const handled = new Set(app.routes.filter(({ method }) => method !== 'ALL').map(({ method, path }) => `${method} ${path}`))
  expect([...handled].sort()).toEqual(ROUTES.map(nameOf).sort())
  for (const { clauses } of ROUTES) expect(clauses.map(({ operation }) => operation !== undefined).indexOf(true)).toBe(0)
})

it('a value whose schema is documented otherwise keeps its description', () => {
  const months = integerParameter(1, 24, 12)
  const described = z.strictObject({ months: months.meta({ description: 'Calendar months.' }), limit: months })
  const integer = { type: 'integer', minimum: 1, maximum: 24, default: 12 }
  expect(jsonSchemaOf(described, 'input')['properties']).toEqual({
    months: { ...integer, description: 'Calendar months.' },
    limit: integer,
  })
})

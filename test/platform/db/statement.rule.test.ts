import { type SQL, sql } from 'drizzle-orm'
import { alias, SQLiteAsyncDialect } from 'drizzle-orm/sqlite-core'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { cfdi, cfdiPayments } from '../../../src/cfdi/tables.ts'
import { textOf } from '../../../src/platform/db/statement.ts'

const other = alias(cfdi, 'other')
const constants: unknown[] = [
  ...[cfdi, cfdiPayments, other, cfdi.uuid, cfdi.total_micros, other.issued_at, cfdiPayments.n],
  ...[null, undefined, true, '', `it's "quoted"`, 0, -1.5, ['a', 1], [], new Date(0)],
  ...[sql.identifier('name'), sql.raw('raw'), sql.param('mapped', cfdi.total_micros), sql`${7} and ${'x'}`.inlineParams()],
  ...[sql.join([sql`a`, sql`${2}`], sql` or `), sql`count(*)`.as('counted'), sql.placeholder('p')],
]

const { statement } = fc.letrec<{ statement: SQL; piece: unknown }>((tie) => ({
  statement: fc
    .array(fc.tuple(fc.constantFrom(' = ', ' and (', ')', ''), tie('piece')), { maxLength: 5 })
    .map((pieces) => sql.join(pieces.map(([text, piece]) => sql`${sql.raw(text)}${piece}`))),
  piece: fc.oneof({ depthSize: 'small' }, fc.constantFrom(...constants), tie('statement')),
}))

it("has the text and parameters that drizzle's own dialect writes, whatever a statement is made of", () => {
  const dialect = new SQLiteAsyncDialect()
  fc.assert(
    fc.property(statement, (one) => {
      const { sql: text, params } = dialect.sqlToQuery(one)
      expect(textOf(one)).toEqual({ sql: text, params })
    }),
    { numRuns: 2_000 },
  )
})

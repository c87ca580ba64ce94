import { expect, it } from 'vitest'
import { parseCfdi } from '../../../src/cfdi/xml/parse.ts'
import { randomOf } from '../../support/random.ts'
import { plainOf, xmlOf } from '../support/documents.ts'

const paidOn = (day: string): string | null | undefined => {
  const receipt = xmlOf(plainOf(randomOf(5), '2026-02', { tipo: 'N' })).replace(
    '<cfdi:Complemento>',
    `<cfdi:Complemento><nomina12:Nomina xmlns:nomina12="http://www.sat.gob.mx/nomina12" Version="1.2" TipoNomina="O" FechaPago="${day}" NumDiasPagados="15"/>`,
  )
  return parseCfdi(new TextEncoder().encode(receipt)).nominas[0]?.fecha_pago
}

it.each(['2026-02-31', '2026-06-31', '2026-99-99', '2101-01-01', '1999-12-31', 'mayo'])(
  'a receipt that says that it was paid on %s says no day',
  (day) => expect(paidOn(day)).toBeNull(),
)

it('a receipt says on which day it was paid', () =>
  expect([paidOn('2026-02-28'), paidOn('2100-12-31')]).toEqual(['2026-02-28', '2100-12-31']))

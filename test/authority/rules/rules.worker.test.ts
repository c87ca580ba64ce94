import { env } from 'cloudflare:test'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { labelsOf, rulesAt } from '../../../src/authority/rules/rules.ts'
import { at } from '../../support/clock.ts'
import { contextOf } from '../../support/context.ts'

/** D1 calls that a verb makes. */
async function callsOf(verb: () => Promise<unknown>): Promise<number> {
  const prepare = vi.spyOn(env.DB, 'prepare')
  await verb()
  const calls = prepare.mock.calls.length
  prepare.mockRestore()
  return calls
}

const insert = (key: string, valid_from: string, valid_to: string | null, value: unknown) =>
  env.DB.prepare('insert into rules values (?1, ?2, ?3, ?4, ?5, ?6, ?7)')
    .bind(key, valid_from, valid_to, JSON.stringify(value), 'Decreto de prueba', 'A test', 'verified')
    .run()

describe('the rules in force', () => {
  afterEach(async () => {
    await env.DB.exec('delete from rules; delete from product_keys')
    vi.useRealTimers()
  })

  it('are the defaults where a deployment has no value of its own, and its own value on its days alone', async () => {
    at('2031-01-01T00:00:00Z')
    await insert('uma', '2027-02-01', '2028-01-31', { daily: '120', monthly: '3648', annual: '43776' })
    const rules = await rulesAt(contextOf(), '2026-06-30')
    expect(rules.get('uma').annual).toBe('42794.64')
    expect(rules.on('2027-01-31').get('uma').annual).toBe('42794.64')
    expect(rules.on('2027-02-01').get('uma').annual).toBe('43776')
    expect(rules.on('2028-01-31').get('uma').annual).toBe('43776')
    expect(rules.on('2028-02-01').get('uma').annual).toBe('42794.64')
    expect(rules.basis().map(({ key, valid_from, source }) => [key, valid_from, source])).toEqual([
      ['uma', '2026-02-01', 'INEGI, Unidad de Medida y Actualización 2026'],
      ['uma', '2027-02-01', 'A test'],
    ])
  })

  it('take one D1 call, none within a minute, and show a change after that minute', async () => {
    at('2031-02-01T00:00:00Z')
    expect(await callsOf(() => rulesAt(contextOf(), '2026-06-30'))).toBeLessThanOrEqual(1)
    await insert('cash.threshold', '2026-01-01', null, '3000')
    at('2031-02-01T00:00:59Z')
    expect(await callsOf(() => rulesAt(contextOf(), '2026-06-30'))).toBe(0)
    expect((await rulesAt(contextOf(), '2026-06-30')).get('cash.threshold')).toBe('2000')
    at('2031-02-01T00:01:00Z')
    expect((await rulesAt(contextOf(), '2026-06-30')).get('cash.threshold')).toBe('3000')
  })

  it('label product keys: segments and families without a D1 call, classes and keys once an operator has loaded them', async () => {
    const system = contextOf()
    const rules = await rulesAt(system, '2026-06-30')
    expect(await callsOf(() => labelsOf(system, rules, ['78', '01', '99']))).toBe(0)
    await env.DB.exec("insert into product_keys values ('78101800', 'Transporte de carga por carretera'), ('78101802', 'Flete regional')")
    const codes = ['78', '781018', '78101802', '78101899', '781099', '99']
    let labels = new Map<string, string | null>()
    const calls = await callsOf(async () => {
      labels = await labelsOf(system, rules, codes)
    })
    expect(calls).toBe(1)
    expect([...labels]).toEqual([
      ['78', 'Servicios de transporte, almacenaje y correo'],
      ['781018', 'Transporte de carga por carretera'],
      ['78101802', 'Flete regional'],
      ['78101899', null],
      ['781099', null],
      ['99', null],
    ])
  })
})

import { env } from 'cloudflare:workers'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { LISTED } from '../../../src/authority/sandbox/lists/listed.ts'
import { objectOf, PUBLIC_SOURCES, type PublicSource } from '../../../src/lists/catalog.ts'
import { loadList } from '../../../src/lists/loading/load.ts'
import type { BlacklistHit } from '../../../src/lists/lookups/contract.ts'
import { hasValidCheckDigit } from '../../../src/taxpayers/rfc.ts'
import { api } from '../../support/client.ts'
import { daily } from '../../support/crons.ts'
import { signUp } from '../../support/tenants.ts'
import { bytesOf, csvOf } from '../support/list-csv.ts'
import { forgetLists, NOW, stored, systemAt } from '../support/lists.ts'

const logged: string[] = []
for (const level of ['log', 'error'] as const) vi.spyOn(console, level).mockImplementation((line: string) => void logged.push(line))
beforeEach(forgetLists)

const [ONE, TWO, THREE] = ['AAG090703QT6', 'ÑAÑ140114GY4', 'BEBA800101AB1'] as const
const BASE = ['RFC', 'RAZON SOCIAL', 'TIPO PERSONA', 'SUPUESTO', 'FECHA DE PRIMERA PUBLICACION', 'ENTIDAD FEDERATIVA']
const row = (rfc: string, supuesto: string, day: string, name = 'APLICA, S.A.') => [rfc, name, 'M', supuesto, day, 'CIUDAD DE MEXICO']
const base = (supuesto: string, rows: [rfc: string, day: string, name?: string][], header = BASE) =>
  bytesOf(csvOf([header, ...rows.map(([rfc, day, name]) => row(rfc, supuesto, day, name))]))

const BIS = [
  ...['No.', 'RFC', 'Nombre del Contribuyente', 'Situación del contribuyente'],
  ...['Número y fecha de oficio global definitivo SAT', 'Publicación página SAT definitivo'],
  ...['Número y fecha de oficio global definitivo DOF', 'Publicación DOF definitivo'],
  ...['Número y fecha de oficio global de sentencia favorable SAT', 'Publicación página SAT sentencia favorable'],
  ...['Número y fecha de oficio global de sentencia favorable DOF', 'Publicación DOF sentencia favorable'],
]
const bisOf = (rows: readonly string[][], day = '05 de junio de 2026') =>
  bytesOf(csvOf([[`Información actualizada al ${day}; los listados`], ['Listado completo (Artículo 69-B Bis)'], BIS, ...rows]))

/** A file of each list as the authority writes it, with ONE on it since a day. */
const FILES: Record<Exclude<PublicSource, 'sat_69b'>, { file: Uint8Array; since: string; situacion: string | null }> = {
  sat_69b_bis: {
    file: bisOf([
      ['1', ONE, 'APLICA, \nS.A.', 'Definitivo', '900-04-2024-80', '05/06/2024', '900-04-2024-80', '05/07/2024', '', '', '', ''],
    ]),
    ...{ since: '2024-06-05', situacion: 'definitivo' },
  },
  sat_69_firmes: { file: base('FIRMES', [[ONE, '01/01/2014']]), since: '2014-01-01', situacion: null },
  sat_69_exigibles: { file: base('EXIGIBLES', [[ONE, '16/09/2017']]), since: '2017-09-16', situacion: null },
  sat_69_no_localizados: { file: base('NO LOCALIZADOS', [[ONE, '01/05/2016']]), since: '2016-05-01', situacion: null },
  sat_69_sentencias: {
    file: base(
      'SENTENCIAS',
      [[ONE, '1/12/2017']],
      ['RFC', 'RAZÓN SOCIAL', 'TIPO PERSONA', 'SUPUESTO', 'FECHAS DE PRIMERA PUBLICACION', 'ENTIDAD FEDERATIVA'],
    ),
    ...{ since: '2017-12-01', situacion: null },
  },
  sat_69_cancelados: {
    file: bytesOf(
      csvOf([
        ['RFC', 'RAZON SOCIAL', 'TIPO PERSONA', 'SUPUESTO', 'FECHA DE CANCELACION', 'MONTO', 'FECHA DE PUBLICACION', 'ENTIDAD FEDERATIVA'],
        [ONE, 'APLICA', 'M', 'CANCELADOS', '01/01/2013', '1,200', '02/02/2015', 'JALISCO'],
      ]),
    ),
    ...{ since: '2015-02-02', situacion: null },
  },
  sat_69_condonados: { file: base('CONDONADOS', [[ONE, '03/03/2016']]), since: '2016-03-03', situacion: null },
  sat_csd_sin_efectos: {
    file: bytesOf(
      csvOf([
        ['RFC', 'NOMBRE O RAZON SOCIAL', 'SUPUESTO DE CANCELACION CSD', 'FECHA DE CANCELACION CSD', 'FECHA DE PUBLICACION'],
        [ONE, 'APLICA', 'FRACCION X', '05/01/2024', '23/07/2024'],
      ]),
    ),
    ...{ since: '2024-07-23', situacion: null },
  },
}

const load = (source: PublicSource, file: Uint8Array, day = '2026-08-07') =>
  loadList(systemAt(), source, file, new Date(`${day}T12:00:00Z`))
const hits = async (rfc: string): Promise<BlacklistHit[]> =>
  (await api(await signUp(), 'GET', `/v1/blacklists/lookup?rfc=${encodeURIComponent(rfc)}`)).body.hits

describe('each list of the authority', () => {
  it.each(Object.entries(FILES))(
    '%s is loaded as it is written, and looked up with its dates',
    async (source, { file, since, situacion }) => {
      expect(await load(source as PublicSource, file)).toBe('loaded')
      expect(await hits(ONE)).toMatchObject([{ source, situacion, since, is_active: true, published_sat_at: since }])
      expect((await stored()).lists).toMatchObject([
        { source, list_date: source === 'sat_69b_bis' ? '2026-06-05' : '2026-08-07', row_count: 1 },
      ])
    },
  )

  it('lists an RFC once, since its first publication, as UTF-8 or windows-1252, with Ñ and unassigned bytes', async () => {
    const file = base('FIRMES', [
      [ONE, '01/05/2016', 'OTRO'],
      [ONE, '01/01/2014'],
      [ONE, 'pendiente'],
      [TWO, '02/02/2020', 'ÑANDÚ\u008d SA'],
      [THREE, '31/02/2020'],
    ])
    expect(await load('sat_69_firmes', file)).toBe('loaded')
    const { lists, entries } = await stored()
    expect(lists).toMatchObject([{ row_count: 5 }])
    expect(entries.map(({ rfc, name, seen_on }) => [rfc, name, seen_on])).toEqual([
      [ONE, 'APLICA, S.A.', null],
      [THREE, 'APLICA, S.A.', '2026-08-07'],
      [TWO, 'ÑANDÚ\u008d SA', null],
    ])
    expect(await hits(ONE)).toMatchObject([{ since: '2014-01-01', history: [{ situacion: null, sat_at: '2014-01-01' }] }])
  })

  it.each([
    [
      'is another list of the same columns',
      base('EXIGIBLES', [
        [ONE, '01/01/2014'],
        [TWO, '01/01/2014'],
      ]),
      'list.other',
    ],
    ['lost its header', bytesOf(csvOf([row(ONE, 'FIRMES', '01/01/2014')])), 'list.no_header'],
    [
      'lost a column',
      bytesOf(
        csvOf([
          ['RFC', 'SUPUESTO', 'FECHA DE PUBLICACION'],
          [ONE, 'FIRMES', '01/01/2014'],
        ]),
      ),
      'list.no_header',
    ],
    ['has no RFC', base('FIRMES', [['nadie', '01/01/2014']]), 'list.empty'],
    ['shrank', base('FIRMES', [[ONE, '01/01/2014']]), 'list.shrunk'],
  ])('refuses a file that %s', async (_, file, code) => {
    await load(
      'sat_69_firmes',
      base('FIRMES', [
        [ONE, '01/01/2014'],
        [TWO, '01/01/2014'],
      ]),
    )
    const before = await stored()
    expect(await load('sat_69_firmes', file)).toBe('refused')
    const { lists, entries } = await stored()
    expect([entries, lists[0]!['refused_code']]).toEqual([before.entries, code])
  })

  it('refuses a file that is older than the loaded one, by the day that it states or the day of the file', async () => {
    await load('sat_69_firmes', base('FIRMES', [[ONE, '01/01/2014']]))
    expect(await load('sat_69_firmes', base('FIRMES', [[TWO, '01/01/2014']]), '2026-08-06')).toBe('refused')
    await load('sat_69b_bis', FILES.sat_69b_bis.file)
    expect(
      await load('sat_69b_bis', bisOf([['1', TWO, 'B', 'Definitivo', '', '05/06/2024', '', '', '', '', '', '']], '4 de junio de 2026')),
    ).toBe('refused')
  })

  it('fails alone: the daily work loads the others', async () => {
    await env.FILES.put(objectOf('sat_69_firmes'), bytesOf('<html></html>'))
    await env.FILES.put(objectOf('sat_69_exigibles'), FILES.sat_69_exigibles.file)
    await daily(env, new Date(NOW))
    const { lists } = await stored()
    expect(lists.find(({ source }) => source === 'sat_69_firmes')).toMatchObject({ version: 0, refused_code: 'list.no_header' })
    expect(lists.find(({ source }) => source === 'sat_69_exigibles')).toMatchObject({ version: 1, row_count: 1 })
  })
})

describe('the sandbox', () => {
  it('starts with every list, on which its taxpayers are in every situation; a file replaces one', async () => {
    await daily(env, new Date(NOW))
    const { lists } = await stored()
    expect(lists.map(({ source }) => source)).toEqual([...PUBLIC_SOURCES].sort())
    expect(lists.filter(({ version, notified_version }) => version !== 1 || notified_version !== 1)).toEqual([])
    for (const { rfc, situacion, lists: others } of LISTED) {
      expect(hasValidCheckDigit(rfc)).toBe(true)
      const found = await hits(rfc)
      expect(found.map(({ source }) => source).sort()).toEqual(['sat_69b', ...others].sort())
      expect(found.find(({ source }) => source === 'sat_69b')).toMatchObject({ situacion, since: '2023-03-01' })
    }
    await env.FILES.put(objectOf('sat_69_firmes'), base('FIRMES', [[ONE, '01/01/2014']]))
    await daily(env, new Date(NOW))
    expect((await hits(ONE)).map(({ source }) => source)).toEqual(['sat_69_firmes'])
    expect((await hits(LISTED[0]!.rfc)).map(({ source }) => source)).not.toContain('sat_69_firmes')
  })
})

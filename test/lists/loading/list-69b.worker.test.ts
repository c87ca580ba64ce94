import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { highest, type ListingStep, labelOf, listingStatus, severityOf } from '../../../src/lists/catalog.ts'
import {
  datesIn,
  entriesOf as entriesOfRows,
  formatOf,
  type ListRow,
  readList,
  refuseImplausible,
} from '../../../src/lists/loading/read-list.ts'
import { recordsOf } from '../../../src/platform/csv.ts'
import { bytesOf, csvOf, HEADER, type Listed, listOf, listText } from '../support/list-csv.ts'

const readList69b = (bytes: Uint8Array) => readList(bytes, formatOf('sat_69b', '2026-08-05'), '2026-08-05')
const entriesOf = (rows: Iterable<ListRow>) => {
  const { rfcs: _, others: __, ...read } = entriesOfRows(rows)
  return { ...read, entries: [...read.entries] }
}

describe('dates', () => {
  it.each([
    ['', []],
    ['01/05/2014', ['2014-05-01']],
    ['25/05/2022 - 26/04/2021', ['2022-05-25', '2021-04-26']],
    ['22/06/2018 // 10/10/2018', ['2018-06-22', '2018-10-10']],
    ['14-08-19 // 20/09/2018', ['2019-08-14', '2018-09-20']],
    ['17/10/2019    27/08/2018', ['2019-10-17', '2018-08-27']],
    ['19/07/2018 - 30/10/18', ['2018-07-19', '2018-10-30']],
    ['44029', ['2020-07-17']],
    ['1 de julio de 2020', ['2020-07-01']],
    ['30 de Setiembre del 2021', ['2021-09-30']],
    ['2022-05-25', ['2022-05-25']],
    ['31/02/2020', [null]],
    ['31/02/2020 - 01/03/2020', [null, '2020-03-01']],
    ['01/13/2020', [null]],
    ['5 de brumario de 2020', [null]],
    ['01/01/0001', [null]],
    ['sin fecha', []],
    ['500-05-2020-13742', []],
  ] as const)('%j', (text, wanted) => {
    expect(datesIn(text)).toEqual(wanted)
  })

  it('are found wherever they stand, in their order', () => {
    const day = fc.date({ min: new Date('2014-01-01'), max: new Date('2030-12-31'), noInvalidDate: true })
    const separator = fc.constantFrom(' - ', ' // ', '  ', '; ', ' y ')
    fc.assert(
      fc.property(fc.array(day, { minLength: 1, maxLength: 4 }), separator, fc.constantFrom('/', '-', '.'), (days, between, inside) => {
        const texts = days.map((one) => one.toISOString().slice(0, 10))
        const typed = texts.map((text) => text.split('-').reverse().join(inside)).join(between)
        expect(datesIn(typed)).toEqual(texts)
      }),
    )
  })
})

const read = (rows: readonly Listed[]) => entriesOf(readList69b(listOf(rows)).rows)
const one = (...rows: Listed[]) => read(rows).entries[0]!
const standing = (entry: ReturnType<typeof one>, as_of: string | null = null) => listingStatus(entry.history, '2026-07-31', as_of)
const RFC = 'AAA010101AAA'
const step = (situacion: ListingStep['situacion'], sat_at: string | null, dof_at: string | null) => ({ situacion, sat_at, dof_at })

describe('a list of article 69-B', () => {
  it('is read from windows-1252 with its legends, quotes, line ends in names and stray rows of commas', () => {
    const bytes = listOf([
      {
        rfc: ' ñex121116km4 ',
        nombre: 'ÑANDÚ “EXPORTACIONES”,\nS.A. ',
        situacion: 'definitivo ',
        presunto: '01/01/2019|02/01/2019',
        definitivo: '01/02/2020|',
      },
    ])
    const { list_date, rows } = readList69b(bytes)
    expect(list_date).toBe('2026-07-31')
    expect(entriesOf(rows)).toEqual({
      entries: [
        {
          rfc: 'ÑEX121116KM4',
          name: 'ÑANDÚ “EXPORTACIONES”, S.A.',
          situacion: 'definitivo',
          history: [
            { ...step('presunto', '2019-01-01', '2019-01-02'), oficio: '500-05-presunto-ÑEX121116KM4 de fecha 1 de enero de 2019' },
            { ...step('definitivo', '2020-02-01', null), oficio: '500-05-definitivo-ÑEX121116KM4 de fecha 1 de enero de 2019' },
          ],
          has_undated: false,
        },
      ],
      row_count: 1,
      suppressed: 0,
      illegible: 0,
    })
  })

  it('takes a byte that windows-1252 does not assign, UTF-8 with a mark, and columns in another order', () => {
    const rows = [{ rfc: RFC, nombre: 'UNO\u008d', situacion: 'Presunto', presunto: '01/01/2019|02/01/2019' }]
    expect(entriesOf(readList69b(listOf(rows)).rows).entries[0]!.name).toBe('UNO\u008d')
    const utf8 = new TextEncoder().encode(`\ufeff${listText([{ ...rows[0]!, nombre: 'ÑU' }], '31 de julio de 2026')}`)
    expect(entriesOf(readList69b(utf8).rows).entries[0]).toMatchObject({ name: 'ÑU', situacion: 'presunto' })
    const turned = [...recordsOf(listText(rows, '31 de julio de 2026'))].map((record) => (record.length > 1 ? record.reverse() : record))
    expect(entriesOf(readList69b(bytesOf(csvOf(turned))).rows)).toEqual(entriesOf(readList69b(listOf(rows)).rows))
  })

  it.each([
    ['an error page', '<!DOCTYPE html><html><body>Service Unavailable</body></html>', 'list.no_header'],
    ['nothing', '', 'list.no_header'],
    ['a list without its header', listText([], '31 de julio de 2026', ['uno']), 'list.no_header'],
    ['a header that lost columns', listText([], '31 de julio de 2026', HEADER.slice(0, 12)), 'list.no_header'],
    ['a list of no day', listText([], null), 'list.undated'],
    ['a list of an impossible day', listText([], '31 de junio de 2026'), 'list.undated'],
  ])('is not %s', (_, text, code) => {
    expect(() => readList69b(bytesOf(text))).toThrow(expect.objectContaining({ code }))
  })

  it('counts suppressed and illegible rows, and keeps nothing of them', () => {
    const dates = { presunto: '01/01/2019|02/01/2019' }
    expect(
      read([
        { rfc: 'XXXXXXXXXXXX', situacion: 'Definitivo', ...dates },
        { rfc: 'XXXXXXXXXXXXX', situacion: 'Definitivo' },
        { rfc: 'NO ES UN RFC', situacion: 'Definitivo', ...dates },
        { rfc: RFC, situacion: '' },
        { rfc: 'BBB020202BB2', situacion: 'Presunto', ...dates },
      ]),
    ).toMatchObject({ entries: [{ rfc: 'BBB020202BB2' }], row_count: 3, suppressed: 2, illegible: 2 })
  })

  it.each<[string, Listed[], string, number]>([
    ['one row', [{ rfc: RFC, situacion: 'Presunto', presunto: '01/01/2019|02/01/2019' }], 'presunto', 1],
    [
      'a definitive listing made anew',
      [
        {
          rfc: RFC,
          situacion: 'Definitivo',
          presunto: '01/01/2019|02/01/2019',
          definitivo: '25/05/2022 - 26/04/2021|20/06/2022 - 13/05/2021',
        },
      ],
      'definitivo',
      3,
    ],
    [
      'two rows of one procedure',
      [
        { rfc: RFC, situacion: 'Presunto', presunto: '01/01/2019|02/01/2019' },
        { rfc: RFC, situacion: 'Desvirtuado', presunto: '01/01/2019|02/01/2019', desvirtuado: '03/03/2019|04/03/2019' },
      ],
      'desvirtuado',
      2,
    ],
    [
      'a new presumption after a sentence',
      [
        { rfc: RFC, situacion: 'Presunto', presunto: '10/03/2020|31/03/2020' },
        {
          rfc: RFC,
          situacion: 'Sentencia Favorable',
          presunto: '01/06/2017|12/06/2017',
          definitivo: '27/11/2017|14/12/2017',
          sentencia: '20/12/2019|27/01/2020',
        },
      ],
      'presunto',
      4,
    ],
    [
      'two that were published on one day',
      [
        { rfc: RFC, situacion: 'Sentencia Favorable', presunto: '01/06/2017|12/06/2017', sentencia: '20/12/2019|27/01/2020' },
        { rfc: RFC, situacion: 'Definitivo', presunto: '01/06/2016|12/06/2016', definitivo: '20/12/2019|27/01/2020' },
      ],
      'sentencia_favorable',
      4,
    ],
    [
      'a row that stands where its dates do not say',
      [
        {
          rfc: RFC,
          situacion: 'Definitivo',
          presunto: '01/01/2019|02/01/2019',
          definitivo: '01/02/2019|02/02/2019',
          sentencia: '01/03/2019|02/03/2019',
        },
      ],
      'definitivo',
      3,
    ],
    ['a row without any date', [{ rfc: RFC, situacion: 'Definitivo', definitivo: 'pendiente|' }], 'definitivo', 1],
    ['a row whose situation nobody knows', [{ rfc: RFC, situacion: 'En revisión', presunto: '01/01/2019|02/01/2019' }], 'presunto', 1],
  ])('of %s stands where the latest publication leaves it', (_, rows, situacion, steps) => {
    const entry = one(...rows)
    expect([entry.situacion, entry.history.at(-1)!.situacion]).toEqual([situacion, situacion])
    // Rows that share a step tell it once.
    expect(entry.history.length).toBe(steps)
  })

  it('pairs publications of one oficio when the page and the Diario Oficial have different ones', () => {
    const cells = ['1', RFC, 'UNO', 'Definitivo', ...Array.from({ length: 16 }, () => '')]
    cells[12] = '500-05-2022-29330 de fecha 25 de noviembre de 2022 // 500-05-2018-29849 de fecha 26 de octubre de 2018'
    cells[13] = '25/11/2022 - 26/10/2018'
    cells[14] = '500 05 2018 29849 de fecha 27 de octubre de 2018'
    cells[15] = '21/11/2018'
    const text = csvOf([['Información actualizada al 30 de noviembre de 2022'], HEADER, cells])
    expect(entriesOf(readList69b(bytesOf(text)).rows).entries[0]!.history).toMatchObject([
      step('definitivo', '2018-10-26', '2018-11-21'),
      step('definitivo', '2022-11-25', null),
    ])
  })
})

describe('where an RFC stands on a day', () => {
  const favorable = one({
    rfc: RFC,
    situacion: 'Sentencia Favorable',
    presunto: '01/01/2019|20/01/2019',
    definitivo: '01/02/2020|20/02/2020',
    sentencia: '01/03/2021|20/03/2021',
  })

  it.each([
    ['2018-12-31', null],
    ['2019-01-01', { situacion: 'presunto', is_active: true, since: '2019-01-01', until: null, steps: 1 }],
    ['2020-01-31', { situacion: 'presunto', is_active: true, since: '2019-01-01', until: null, steps: 1 }],
    ['2020-02-01', { situacion: 'definitivo', is_active: true, since: '2019-01-01', until: null, steps: 2 }],
    ['2021-02-28', { situacion: 'definitivo', is_active: true, since: '2019-01-01', until: null, steps: 2 }],
    ['2021-03-01', { situacion: 'sentencia_favorable', is_active: false, since: '2019-01-01', until: '2021-03-01', steps: 3 }],
    [null, { situacion: 'sentencia_favorable', is_active: false, since: '2019-01-01', until: '2021-03-01', steps: 3 }],
  ])('%s', (as_of, wanted) => {
    const found = standing(favorable, as_of)
    expect(
      found && {
        situacion: found.step?.situacion,
        is_active: found.is_active,
        since: found.since,
        until: found.until,
        steps: found.history.length,
      },
    ).toEqual(wanted)
  })

  it('begins anew when it is listed again after it was cleared', () => {
    const again = one(
      { rfc: RFC, situacion: 'Desvirtuado', presunto: '01/01/2019|', desvirtuado: '01/06/2019|' },
      { rfc: RFC, situacion: 'Definitivo', presunto: '01/01/2021|', definitivo: '01/06/2021|' },
    )
    expect(standing(again, '2020-01-01')).toMatchObject({ is_active: false, since: '2019-01-01', until: '2019-06-01' })
    expect(standing(again)).toMatchObject({ is_active: true, since: '2021-01-01', until: null })
  })

  it('counts a step without a legible date from the list in which it was first seen', () => {
    const undated = one({ rfc: RFC, situacion: 'Definitivo', presunto: '01/01/2019|', definitivo: 'pendiente|' })
    expect(undated.has_undated).toBe(true)
    expect(standing(undated, '2026-07-30')).toMatchObject({ step: { situacion: 'presunto' } })
    expect(standing(undated, '2026-07-31')).toMatchObject({ step: { situacion: 'definitivo' }, since: '2019-01-01' })
  })

  it('is on a list without steps on any day', () => {
    expect(listingStatus([], null, '2000-01-01')).toEqual({ step: null, is_active: true, since: null, until: null, history: [] })
  })

  const day = fc
    .date({ min: new Date('2014-01-01'), max: new Date('2026-07-31'), noInvalidDate: true })
    .map((date) => date.toISOString().slice(0, 10))
  const typed = (text: string | undefined) => text?.split('-').reverse().join('/')
  const publications = fc.option(fc.tuple(day, day), { nil: undefined })

  it('is, of procedures in order, what a plain walk through the publications up to that day says', () => {
    fc.assert(
      fc.property(fc.tuple(day, day), publications, publications, day, (presunto, definitivo, sentencia, as_of) => {
        // Each step is published twice, and after the one before it.
        const days = [...new Set([presunto, definitivo, sentencia].flatMap((one) => one ?? []))].sort()
        const names = ['presunto', ...(definitivo ? ['definitivo'] : []), ...(sentencia ? ['sentencia'] : [])]
        fc.pre(days.length >= names.length * 2)
        const steps = names.map((name, n) => ({ name, sat: days[2 * n]!, dof: days[2 * n + 1]! }))
        const cells = Object.fromEntries(steps.map(({ name, sat, dof }) => [name, `${typed(sat)}|${typed(dof)}`]))
        const situacion = { presunto: 'Presunto', definitivo: 'Definitivo', sentencia: 'Sentencia Favorable' }[names.at(-1)!]!
        const found = standing(one({ rfc: RFC, situacion, ...cells }), as_of)
        const last = steps.filter(({ sat }) => sat <= as_of).at(-1)
        expect(found?.step?.situacion ?? null).toBe(
          last === undefined ? null : last.name === 'sentencia' ? 'sentencia_favorable' : last.name,
        )
        expect(found?.since ?? null).toBe(last === undefined ? null : steps[0]!.sat)
        expect(found?.until ?? null).toBe(last?.name === 'sentencia' ? last.sat : null)
        // Nobody knows on a day of a publication after it.
        const known = steps.filter(({ sat }) => sat <= as_of).map(({ sat, dof }) => [sat, dof <= as_of ? dof : null])
        expect(found?.history.map(({ sat_at, dof_at }) => [sat_at, dof_at]) ?? []).toEqual(known)
      }),
    )
  })
})

describe('a file in the place of the list that is held', () => {
  const now = new Date('2026-08-05T10:00:00Z')
  const stored = { list_date: '2026-06-30', row_count: 1_000 }
  it.each([
    [stored, { list_date: '2026-07-31', row_count: 1_001 }, null],
    [stored, { list_date: '2026-06-30', row_count: 900 }, null],
    [stored, { list_date: '2026-07-31', row_count: 899 }, 'list.shrunk'],
    [stored, { list_date: '2026-06-29', row_count: 1_001 }, 'list.older'],
    [stored, { list_date: '2027-08-07', row_count: 1_001 }, 'list.in_future'],
    [stored, { list_date: '2026-07-31', row_count: 0 }, 'list.empty'],
    [null, { list_date: '2014-01-31', row_count: 1 }, null],
    [null, { list_date: '2026-07-31', row_count: 0 }, 'list.empty'],
  ])('%j, found %j: %s', (before, found, code) => {
    const judge = () => refuseImplausible(before, found, now)
    if (code === null) expect(judge).not.toThrow()
    else expect(judge).toThrow(expect.objectContaining({ code }))
  })
})

it('knows how grave each list and situation is', () => {
  expect(
    [
      ['sat_69b', 'definitivo'],
      ['sat_69b', 'presunto'],
      ['sat_69_firmes', null],
      ['sat_69_exigibles', null],
      ['sat_69_no_localizados', null],
      ['sat_69b', 'desvirtuado'],
      ['sat_69b', 'sentencia_favorable'],
      ['sat_69_cancelados', null],
      ['sat_69_condonados', null],
    ].map(([source, situacion]) => severityOf(source!, situacion as never)),
  ).toEqual(['critical', 'high', 'medium', 'medium', 'medium', 'low', 'low', 'info', 'info'])
  expect([highest([]), highest(['low', 'critical', 'info']), highest(['info', 'low'])]).toEqual([null, 'critical', 'low'])
  expect([labelOf('sat_69b', null), labelOf('custom:a', 'Proveedores vetados'), labelOf('custom:a', null)]).toEqual([
    'Art. 69-B (EFOS)',
    'Proveedores vetados',
    'custom:a',
  ])
})

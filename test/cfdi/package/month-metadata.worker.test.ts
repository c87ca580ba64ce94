import { describe, expect, it } from 'vitest'
import { MonthMetadata } from '../../../src/cfdi/package/rejections.ts'
import { bytesInMemory } from '../../../src/platform/bytes/bytes.ts'
import { zipOf } from '../../support/zip.ts'

const [OWN, OTHER, THIRD] = ['EKU9003173C9', 'URE180429TM6', 'CACX7605101P8']
const HEADER = 'Uuid~RfcEmisor~RfcReceptor~FechaEmision~Monto~Estatus'
const uuid = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`
const row = (n: number, fecha = '2026-02-03 10:00:00', [emisor, receptor] = [OWN, OTHER], estatus = 1) =>
  [uuid(n), emisor, receptor, fecha, '1.00', estatus].join('~')

type Shared = Parameters<MonthMetadata['add']>[1]

/** What counts of a package of February, and what is rejected of it. */
async function february(rows: readonly string[], { direction = 0, shared }: { direction?: 0 | 1; shared?: Shared } = {}) {
  const metadata = new MonthMetadata({ rfc: OWN, direction, month: '2026-02' })
  await metadata.add(bytesInMemory(zipOf([{ name: 'a.txt', bytes: new TextEncoder().encode([HEADER, ...rows].join('\r\n')) }])), shared)
  const left = (await Array.fromAsync(metadata.rowsLeft())).flat()
  return {
    counted: left.map((one) => Number(one.uuid.slice(-12))),
    rejected: metadata.rejected.first.map(({ line, code, uuid }) => [line, code, uuid && Number(uuid.slice(-12))]),
  }
}

/** What breaks without it: who brings another month, or the other source, makes every month a true zero. */
describe('metadata of a month alone', () => {
  it('rejects what is of another month, and keeps what nobody can date for the store to reject', async () => {
    expect(await february([row(1), row(2, '2024-02-03 10:00:00'), row(3, '2026-03-01 00:00:00'), row(4, 'ayer')])).toEqual({
      counted: [1, 4],
      rejected: [
        [3, 'metadata.outside_period', 2],
        [4, 'metadata.outside_period', 3],
      ],
    })
  })

  it('rejects what is of the other source, and keeps what is of neither party for the store to reject', async () => {
    const rows = [row(1), row(2, undefined, [OTHER, OWN]), row(3, undefined, [OWN, OWN]), row(4, undefined, [OTHER, THIRD])]
    expect(await february(rows)).toEqual({ counted: [1, 3, 4], rejected: [[3, 'metadata.other_source', 2]] })
    expect(await february(rows, { direction: 1 })).toEqual({ counted: [2, 3, 4], rejected: [[2, 'metadata.other_source', 1]] })
  })
})

describe('metadata of several months', () => {
  const shared = (is_last: boolean): Shared => ({ is_last, is_short: false, isAsked: (time) => time.startsWith('2026-0'), family: 'cfdi' })

  it('leaves rows of other months to these, and its last month tells of what is of none', async () => {
    const rows = [row(1), row(2, '2026-03-01 10:00:00'), row(3, '2024-01-01 10:00:00'), row(4, undefined, [OTHER, OWN])]
    expect(await february(rows, { shared: shared(false) })).toEqual({ counted: [1], rejected: [[5, 'metadata.other_source', 4]] })
    expect(await february(rows, { shared: shared(true) })).toEqual({
      counted: [1],
      rejected: [
        [4, 'metadata.outside_period', 3],
        [5, 'metadata.other_source', 4],
      ],
    })
  })

  it.each([
    ['an empty package', []],
    ['a package with something else', [{ name: 'leeme.txt', bytes: new TextEncoder().encode('nada') }]],
  ])('%s is a loss where fewer documents came than were announced, and no loss otherwise', async (_, files) => {
    const notifiedOf = async (is_short: boolean, is_last = true) => {
      const metadata = new MonthMetadata({ rfc: OWN, direction: 0, month: '2026-02' })
      await metadata.add(bytesInMemory(zipOf(files)), { ...shared(is_last)!, is_short })
      return metadata.rejected.first.map(({ code }) => code)
    }
    expect(await notifiedOf(false)).toEqual([])
    expect(await notifiedOf(true)).toEqual(['metadata.no_rows'])
    expect(await notifiedOf(true, false)).toEqual([])
  })
})

it('a document that one row calls cancelled is cancelled, whatever a later row says', async () => {
  const metadata = new MonthMetadata({ rfc: OWN, direction: 0, month: '2026-02' })
  const rows = [row(1, undefined, undefined, 0), row(1), row(2), row(2, undefined, undefined, 0)]
  await metadata.add(bytesInMemory(zipOf([{ name: 'a.txt', bytes: new TextEncoder().encode([HEADER, ...rows].join('\n')) }])))
  expect([1, 2].map((n) => metadata.statuses.get(uuid(n))?.cancelled)).toEqual([true, true])
})

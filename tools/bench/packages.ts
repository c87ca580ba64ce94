import { type Plain, packageOf, RFC, thousand } from '../../test/cfdi/support/documents.ts'
import { randomOf } from '../../test/support/random.ts'
import type { Rig } from './rig.ts'

/** 1,000 documents of a month, whose payments and credit notes are of invoices of the month before; and those of the month before. */
export interface Months {
  earlier: Plain[]
  documents: Plain[]
}

export const MONTH = '2025-02'

const make = (): Months => {
  const random = randomOf(20_250_201)
  const earlier = thousand(random, '2025-01', [])
  return { earlier, documents: thousand(random, MONTH, earlier) }
}

const sent = new WeakMap<Rig, Months>()

/** Takes both packages to the bench's Worker, once. */
export async function months(rig: Rig): Promise<Months> {
  const known = sent.get(rig)
  if (known) return known
  const made = make()
  for (const name of ['earlier', 'documents'] as const) await rig.ask(`/package?name=${name}`, Buffer.from(packageOf(made[name])))
  sent.set(rig, made)
  return made
}

export const at = (path: string, entity: number, name: string): string => `${path}?entity=${entity}&rfc=${RFC}&name=${name}`

/** An entity with the package of the earlier month in it. */
export async function ingested(rig: Rig, entity: number): Promise<Months> {
  const made = await months(rig)
  await rig.ask(at('/ingest', entity, 'earlier'), 'null')
  return made
}

import { type SQL, sql } from 'drizzle-orm'
import type { Rules } from '../../authority/rules/dated.ts'
import { portionOf } from '../../cfdi/cash/measure.ts'
import { partsOf } from '../../cfdi/chunks/chunks.ts'
import { contentOf } from '../../cfdi/chunks/content.ts'
import { cfdi, cfdiChunks, i, k, own } from '../../cfdi/population/aliases.ts'
import type { Concepto } from '../../cfdi/xml/document.ts'
import { type Micros, micros } from '../../platform/money.ts'
import { isVisible, partitionsToRead, type ScopedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import { sumAll } from '../common/figures.ts'
import { type Limit, take, type Use } from './caps.ts'

/** Whose tuition a part of an invoice is: that part in the invoice’s currency. Null where the complement does not say it. */
export interface Student {
  curp: string | null
  nivel: string | null
  net: Micros
}

/** The packed bytes of chunks that are read. */
const MOST_BYTES = 3 * 1024 * 1024

/**
 * What reads whose tuition the documents of the common table expression `marked` are: those with these uses, and of a credit note the invoice
 * that it credits. `tables` are further common table expressions, `selects` rows of JSON for `studentsOf`. Nothing without uses.
 */
export function tuition(ledger: ScopedLedger, usos: readonly string[]): { tables: SQL; selects: SQL } {
  if (usos.length === 0) return { tables: sql``, selects: sql`` }
  const among = sql`${usos}`.inlineParams()
  const shown = sql.join(
    partitionsToRead(ledger).map((partition) => isVisible(partition, 'i')),
    sql` or `,
  )
  const chunks = sql`from (select distinct entity, chunk from places) p cross join ${cfdiChunks} ${k} where ${k.entity} = p.entity and ${k.chunk} = p.chunk`
  return {
    tables: sql`, places as materialized (
      select m.uuid, ${own.entity}, ${own.issued_at}, ${own.chunk}, ${own.chunk_at} from marked m cross join ${cfdi} ${own}
        where m.tipo = 'I' and m.uso in ${among} and ${own.entity} = m.entity and ${own.uuid} = m.uuid and ${own.chunk_parts} = 1
      union all
      select m.uuid, ${i.entity}, ${i.issued_at}, ${i.chunk}, ${i.chunk_at}
        from marked m cross join ${cfdi} ${own} cross join json_each(${own.related}) r cross join ${cfdi} ${i}
        where m.tipo = 'E' and m.uso in ${among} and ${own.entity} = m.entity and ${own.uuid} = m.uuid and ${i.entity} = m.entity and ${i.uuid} = r.value
          and ${i.emisor_rfc} = ${own.emisor_rfc} and ${i.uso_cfdi} in ${among} and ${i.tipo_comprobante} = 'I' and ${i.chunk_parts} = 1 and (${shown}))`,
    selects: sql` union all select 'place', json_array(uuid, entity || ' ' || chunk, chunk_at, issued_at) from places
      union all select 'chunk', json_array(${k.entity} || ' ' || ${k.chunk}, hex(${k.data})) ${chunks}
        and (select sum(length(${k.data})) ${chunks}) <= ${sql.raw(String(MOST_BYTES))}`,
  }
}

/** The students of each document, by its UUID; of a credit note those of the newest invoice that it credits. */
export function studentsOf(places: readonly string[], chunks: readonly string[]): ReadonlyMap<string, readonly Student[]> {
  const data = new Map(chunks.map((text) => JSON.parse(text) as [string, string]))
  const kept = new Map<string, { issued_at: number; students: Student[] }>()
  for (const [chunk, some] of Map.groupBy(
    places.map((text) => JSON.parse(text) as [uuid: string, chunk: string, at: number, issued_at: number]),
    ([, one]) => one,
  )) {
    const packed = data.get(chunk)
    if (packed === undefined) continue
    const parts = partsOf([packed])
    // What `contentOf` reads is used up, and a credit note names the content of its invoice again.
    for (const [at, same] of Map.groupBy(some, ([, , one]) => one)) {
      const students = contentOf(parts[at]).conceptos.map(studentOf)
      for (const [uuid, , , issued_at] of same) if ((kept.get(uuid)?.issued_at ?? 0) < issued_at) kept.set(uuid, { issued_at, students })
    }
  }
  return new Map([...kept].map(([uuid, { students }]) => [uuid, students]))
}

const studentOf = ({ iedu, importe, descuento }: Concepto): Student => ({
  ...{ curp: iedu?.curp ?? null, nivel: iedu?.nivel_educativo ?? null },
  net: (micros(importe) ?? 0n) - (micros(descuento) ?? 0n),
})

/** A part of a tuition invoice, whose it is, and their level. */
type Known = Student & { curp: string; nivel: string }

/**
 * What decides about tuition: an annual limit for each student, that of the higher one of their levels (Decree of 2013-12-26, 1.8). `all` are the
 * students of the documents that can be deducted, with their years.
 */
export class TuitionLimits {
  readonly #rules: Rules
  readonly #most = new Map<string, Micros>()

  constructor(rules: Rules, all: Iterable<readonly [year: string, students: readonly Student[] | undefined]>) {
    this.#rules = rules
    for (const [year, students] of all)
      for (const { curp, nivel } of this.known(year, students) ?? []) {
        const [key, cap] = [keyOf(curp, year), this.#capOf(year, nivel)!]
        if (cap > (this.#most.get(key) ?? 0n)) this.#most.set(key, cap)
      }
  }

  #capOf = (year: string, nivel: string): Micros | null =>
    micros(this.#rules.on(`${year}-12-31`).find('deduction.tuition')?.[nivel] ?? null)

  /** The students of a document; null unless each of its lines names one and a level with a limit. */
  known(year: string, students: readonly Student[] = []): readonly Known[] | null {
    const isKnown = (one: Student): one is Known => one.curp !== null && one.nivel !== null && this.#capOf(year, one.nivel) !== null
    return students.length > 0 && students.every(isKnown) ? (students as Known[]) : null
  }

  of = (year: string, students: readonly Known[]): Limit[] =>
    [...new Set(students.map(({ curp }) => keyOf(curp, year)))].map((key) => ({ key, amount: this.#most.get(key) ?? 0n, isUnknown: false }))

  /** Uses up each student’s limit by their part of an amount, and returns what of it they allow. */
  take(year: string, students: readonly Known[], limits: readonly Limit[], used: Map<string, Use>, wanted: Micros): Micros {
    if (limits.length === 1) return take(limits, used, wanted)
    const whole = sumAll(students.map(({ net }) => net))
    let left = wanted
    return sumAll(
      limits.map((limit, n) => {
        const own = sumAll(students.filter(({ curp }) => keyOf(curp, year) === limit.key).map(({ net }) => net))
        const part = n === limits.length - 1 ? left : portionOf(wanted, own, whole)
        left -= part
        return take([limit], used, part)
      }),
    )
  }
}

const keyOf = (curp: string, year: string): string => `tuition|${curp}|${year}`

import type { Day, Listing, Situacion } from './shapes.ts'
import { type Document, type ListEntry, rulesOf, type World } from './world.ts'

type Step = ListEntry['history'][number]

/** The day from which a step counts: its first publication, on the authority's page or in the DOF. */
export const publishedOn = ({ sat_at, dof_at }: Step): Day => [sat_at, dof_at].filter((day) => day !== null).sort()[0] ?? ''

export const isCleared = (situacion: Situacion | null): boolean => situacion === 'desvirtuado' || situacion === 'sentencia_favorable'

/** The step in which somebody stands on a list on a day; undefined when nothing is published yet. A list without steps has none. */
export function stepAt({ history }: ListEntry, day: Day): Step | undefined {
  if (history.length === 0) return { situacion: null, sat_at: null, dof_at: null, oficio: null }
  return history.filter((step) => publishedOn(step) <= day).at(-1)
}

/** The situation on the list of article 69-B on a day. */
export function situacionAt(world: World, rfc: string, day: Day): Situacion | null {
  const entry = world.lists.find((one) => one.source === 'sat_69b' && one.rfc === rfc)
  return (entry && stepAt(entry, day)?.situacion) ?? null
}

export const isPresumed = (situacion: Situacion | null): boolean => situacion === 'presunto' || situacion === 'definitivo'

const SEVERITY: Record<string, number> = {
  ...{ definitivo: 4, presunto: 3, sat_69b_bis: 3, sat_csd_sin_efectos: 3 },
  ...{ sat_69_firmes: 2, sat_69_exigibles: 2, sat_69_no_localizados: 2, sat_69_sentencias: 2, sat_69_cancelados: 0, sat_69_condonados: 0 },
}

/** The active hits of an RFC on a day, the most severe first. */
export const hitsAt = (world: World, rfc: string, day: Day): { source: string; situacion: Situacion | null }[] =>
  world.lists
    .filter((one) => one.rfc === rfc)
    .flatMap((entry) => {
      const step = stepAt(entry, day)
      return step === undefined || isCleared(step.situacion) ? [] : [{ source: entry.source, situacion: step.situacion }]
    })
    .sort((a, b) => severity(b) - severity(a) || own(a) - own(b) || (a.source < b.source ? -1 : 1))

/** An organization's own lists come after the public ones. */
const own = ({ source }: { source: string }): number => Number(source.startsWith('custom:'))
const severity = ({ source, situacion }: { source: string; situacion: Situacion | null }): number => SEVERITY[situacion ?? source] ?? 2

export const worstAt = (world: World, rfc: string, day: Day): Listing => hitsAt(world, rfc, day)[0] ?? null

export const hasPrefix = (clave: string | null, prefixes: readonly string[]): boolean =>
  clave !== null && prefixes.some((prefix) => clave.startsWith(prefix))

/** Whether the registry says that a supplier of specialized services had no valid registration on a day. Never asked is not absent. */
export function isRepseInvalid(world: World, document: Document, day: Day): boolean {
  const { emisor_rfc, conceptos } = document
  const known = world.repse.get(emisor_rfc)
  if (!known) return false
  const isInScope = known.has_activities || conceptos.some((line) => hasPrefix(line.clave_prod_serv, rulesOf(world, document).claves.repse))
  return isInScope && (!known.is_registered || (known.vigencia_hasta !== null && known.vigencia_hasta < day))
}

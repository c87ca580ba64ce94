import { type Micros, micros, sum } from '../amounts.ts'
import { inPesos, netOf, rateOf } from '../counting.ts'
import { hasPrefix } from '../lists.ts'
import { type Document, rulesOf, type World } from '../world.ts'

/**
 * What cars cost beyond the limit (LISR 36-II), of the net amount of their invoice in MXN, and whether somebody has to say what they are. A key
 * says what a car is; goods have no limit.
 */
export function carsOf(world: World, document: Document): { excess: Micros; net: Micros; isToReview: boolean } {
  const { vehicles } = rulesOf(world, document)
  const none = { excess: 0n, net: 1n, isToReview: false }
  if (rateOf(world, document) === null || vehicles.goods.includes(document.uso_cfdi ?? '')) return none
  const kinds = [...Map.groupBy(document.conceptos, ({ clave_prod_serv }) => clave_prod_serv ?? '')].map(([clave, lines]) => {
    const isElectric = hasPrefix(clave, vehicles.electric)
    const isCar = isElectric || hasPrefix(clave, vehicles.claves)
    const limit = micros(isElectric ? vehicles.electric_limit : vehicles.limit)
    const nets = lines.map((line) => inPesos(world, document, micros(line.importe) - micros(line.descuento)))
    const counts = lines.map(({ cantidad }) => micros(cantidad))
    const beyond = sum(nets) - (limit * sum(counts)) / 1_000_000n
    const isSame = lines.every((_, n) => nets[n]! * counts[0]! === nets[0]! * counts[n]!)
    const excess = beyond > 0n ? beyond : 0n
    const isDoubtful = (isCar && !isSame) || (hasPrefix(clave, vehicles.review) && !isCar && excess > 0n)
    return { excess: isCar && isSame ? excess : 0n, isDoubtful }
  })
  return {
    excess: sum(kinds.map(({ excess }) => excess)),
    net: inPesos(world, document, netOf(document)),
    isToReview: kinds.some(({ isDoubtful }) => isDoubtful),
  }
}

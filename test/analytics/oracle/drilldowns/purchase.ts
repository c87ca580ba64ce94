import { type Micros, micros, part, sum } from '../amounts.ts'
import { inPesos, netOf } from '../counting.ts'
import { lineNet, netsByClave } from '../lines.ts'
import { hasPrefix } from '../lists.ts'
import { stated } from '../notes.ts'
import { type Document, rulesOf, type World } from '../world.ts'
import { mainClave } from './expectation.ts'

/** What credit notes took off an invoice before, and the part of the one that is judged (null for none), in its currency. */
export interface Noted {
  before: Micros
  own: Micros | null
}

/** The part of an invoice that is not deductible by what it is, and that is for fuel; what caps it, and what has to be asked. */
export interface Purchase {
  out: Micros
  of: Micros
  fuel: Micros
  caps: string[]
  review: string[]
}

const UNNOTED: Noted = { before: 0n, own: null }
const NOTHING: Purchase = { out: 0n, of: 1n, fuel: 0n, caps: [], review: [] }

export const isBar = (document: Document): boolean => mainClave(document) === '90101502'
/** Bars are no restaurants. */
export const isRestaurant = (document: Document): boolean => mainClave(document).startsWith('901015') && !isBar(document)

/** Whether the states of the place of issue and of the receiver's address differ. Two digits of a postal code tell the state. */
const FIRST_DIGITS = [
  17, 21, 23, 24, 25, 28, 29, 31, 34, 36, 39, 42, 44, 50, 58, 62, 63, 64, 68, 72, 76, 77, 78, 80, 83, 86, 87, 90, 91, 97, 98,
]
const isElsewhere = ({ lugar_expedicion: there, receptor_domicilio_fiscal: here }: Document): boolean => {
  const stateOf = (code: string) => FIRST_DIGITS.filter((first) => first <= Number(code.slice(0, 2))).length
  return !!there && !!here && stateOf(there) !== stateOf(here)
}

/** The vehicles or days of the lines of a key: each line, and in one those of which nobody knows how many they are (0). */
function unitsOf(lines: Document['conceptos'], isRented: boolean): { amount: Micros; count: Micros }[] {
  const units = lines.map((one) => {
    const count = isRented && one.clave_unidad !== 'DAY' ? 0n : micros(one.cantidad ?? '1')
    return { amount: lineNet([one]), count: count > 0n && count % 1_000_000n === 0n ? count / 1_000_000n : 0n }
  })
  const [known, unknown] = [units.filter(({ count }) => count > 0n), units.filter(({ count }) => count === 0n)]
  return unknown.length === 0 ? known : [...known, { amount: sum(unknown.map(({ amount }) => amount)), count: 0n }]
}

/**
 * What an invoice is by its keys: of a restaurant 8.5 % is deductible (LISR 28-XX), of a bar nothing; a car has a limit of cost (36-II), and a
 * rented one for each day (28-XIII), after discounts: a credit note first takes off what was beyond the limit. Goods are no cars.
 */
export function purchaseOf(world: World, document: Document, noted: () => Noted = () => UNNOTED): Purchase {
  if (isBar(document)) return { ...NOTHING, out: 1n }
  if (isRestaurant(document)) return { ...NOTHING, out: 915n, of: 1_000n, review: isElsewhere(document) ? ['possible_travel'] : [] }
  const { vehicles, car_rental, claves } = rulesOf(world, document)
  const isGoods = vehicles.goods.includes(document.uso_cfdi ?? '')
  const every = lineNet(document.conceptos)
  // A limit is in the currency of the invoice.
  const isKnown = stated(document) !== null
  const net = isKnown ? inPesos(world, document, netOf(document)) : every
  const isPesos = every - net < 1_000_000n && net - every < 1_000_000n
  let [cars, rent, fuel, isOpen, isUnclear] = [0n, 0n, 0n, false, false]
  for (const [clave, net_of_key] of netsByClave(document)) {
    const isElectric = hasPrefix(clave, vehicles.electric)
    const isCar = isElectric || hasPrefix(clave, vehicles.claves)
    const isVehicle = isCar || hasPrefix(clave, vehicles.review)
    const isRented = !isVehicle && hasPrefix(clave, car_rental.claves)
    if (!isVehicle && !isRented) {
      if (hasPrefix(clave, claves.fuel)) fuel += net_of_key
      continue
    }
    if (isVehicle && isGoods) continue
    const limit = micros(isElectric ? vehicles.electric_limit : isVehicle ? vehicles.limit : car_rental.limit)
    const most = isPesos ? limit : (limit * every) / net
    const lines = document.conceptos.filter((line) => line.clave_prod_serv === clave)
    for (const { amount, count } of unitsOf(lines, isRented)) {
      const beyond = amount - most * count
      if (isVehicle) isOpen ||= !isKnown || ((!isCar || count === 0n) && amount > most * (count > 0n ? count : 1n))
      else isUnclear ||= !isKnown || (count === 0n && amount > most)
      if (!isKnown || count === 0n || beyond <= 0n) continue
      if (isCar) cars += beyond
      else if (isRented) rent += beyond
    }
  }
  const over = cars + rent
  const { before, own } = over > 0n ? noted() : UNNOTED
  const ofTotal = (amount: Micros) => part(amount, every, micros(document.total))
  const left = over > ofTotal(before) ? over - ofTotal(before) : 0n
  const whole = over === 0n ? every : own === null ? every - ofTotal(before) : ofTotal(own)
  // A note on a rented car may take off days, or their price.
  const credited = ofTotal(before) + ofTotal(own ?? 0n)
  isUnclear ||= rent > 0n && credited > 0n && every - credited >= 10_000n
  const review = [...(isOpen ? ['vehicle_review'] : []), ...(isUnclear ? ['car_rental_review'] : [])]
  return {
    out: own !== null && ofTotal(own) < left ? ofTotal(own) : left,
    of: whole > 1n ? whole : 1n,
    fuel: over > 0n && own !== null ? 0n : fuel,
    caps: [...(cars > 0n ? ['cap_vehicle'] : []), ...(rent > 0n ? ['cap_car_rental'] : [])],
    review,
  }
}

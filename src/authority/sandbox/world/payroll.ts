import { type SandboxComprobante, untaxed } from './comprobante.ts'
import { comprobante, type Direction } from './draft.ts'
import { isOld } from './eras.ts'
import { daysIn, later } from './places.ts'
import { random } from './seed.ts'
import { circleOf, type Taxpayer } from './taxpayers.ts'

/** Returns the fortnightly payroll receipts of a month: those that a company issues, or those that a natural person receives. */
export function payrollOf(rfc: string, direction: Direction, month: string): SandboxComprobante[] {
  const { self, employees, employer } = circleOf(rfc)
  if (direction === 'issued') return employees.flatMap((employee) => receiptsOf(self, employee, month))
  return employer ? receiptsOf(employer, { ...self, regimen: '605' }, month) : []
}

function receiptsOf(emisor: Taxpayer, receptor: Taxpayer, month: string): SandboxComprobante[] {
  const contract = random(`${emisor.rfc}|${receptor.rfc}|contract`)
  const salario_diario = contract.int(31_500, 220_000)
  const inicio_relacion = `201${contract.int(0, 7)}-0${contract.int(1, 9)}-${contract.int(10, 28)}`
  const num_empleado = String(contract.int(1, 400)).padStart(4, '0')
  return [1, 16].map((first) => {
    const last = first === 1 ? 15 : daysIn(month)
    const day = (n: number) => `${month}-${String(n).padStart(2, '0')}`
    const draws = random(`${emisor.rfc}|${receptor.rfc}|${day(first)}`)
    const sueldo = salario_diario * 15
    const puntualidad = draws.chance(0.5) ? Math.floor(sueldo / 10) : 0
    const imss = Math.floor((sueldo * 27) / 1000)
    const isr = Math.floor((sueldo * (salario_diario < 60_000 ? 65 : 170)) / 1000)
    const subsidio = salario_diario < 60_000 ? 19_000 : 0
    const nomina = {
      ...{ fecha_pago: day(last), inicial: day(first), final: day(last), dias: 15 },
      ...{ inicio_relacion, salario_diario, num_empleado, sueldo, puntualidad, imss, isr, subsidio },
    }
    return comprobante(
      {
        key: `${emisor.rfc}|${receptor.rfc}|nomina|${day(first)}`,
        fecha: later(`${day(last)}T17:00:00`, draws.int(0, 7000)),
        emisor,
        receptor,
      },
      {
        ...{ tipo: 'N', serie: 'NOM', metodo: 'PUE', forma: isOld(month) ? '99' : null, nomina },
        conceptos: [untaxed('84111505', 'ACT', 'Pago de nómina', sueldo + puntualidad + subsidio, imss + isr)],
      },
    )
  })
}

import type { SandboxNomina } from '../world/comprobante.ts'
import { digitsOf } from '../world/seed.ts'
import { isCompany, type Taxpayer } from '../world/taxpayers.ts'
import { element, group, money } from './markup.ts'

const WEEK = 7 * 86_400_000

/** Returns the nómina 1.2 complement of an ordinary fortnightly payroll receipt. */
export function nominaXml(nomina: SandboxNomina, emisor: Taxpayer, receptor: Taxpayer): string {
  const earned = nomina.sueldo + nomina.puntualidad
  const weeks = Math.floor((Date.parse(nomina.final) - Date.parse(nomina.inicio_relacion) + 86_400_000) / WEEK)
  const perception = (tipo: string, concepto: string, gravado: number) =>
    gravado > 0
      ? element('nomina12:Percepcion', {
          TipoPercepcion: tipo,
          Clave: tipo,
          Concepto: concepto,
          ImporteGravado: money(gravado),
          ImporteExento: '0.00',
        })
      : ''
  const deduction = (tipo: string, concepto: string, importe: number) =>
    element('nomina12:Deduccion', { TipoDeduccion: tipo, Clave: tipo, Concepto: concepto, Importe: money(importe) })
  return element(
    'nomina12:Nomina',
    {
      Version: '1.2',
      TipoNomina: 'O',
      FechaPago: nomina.fecha_pago,
      FechaInicialPago: nomina.inicial,
      FechaFinalPago: nomina.final,
      NumDiasPagados: `${nomina.dias}.000`,
      TotalPercepciones: money(earned),
      TotalDeducciones: money(nomina.imss + nomina.isr),
      TotalOtrosPagos: nomina.subsidio > 0 ? money(nomina.subsidio) : null,
    },
    element('nomina12:Emisor', {
      Curp: isCompany(emisor.rfc) ? null : curpOf(emisor.rfc),
      RegistroPatronal: `Y${digitsOf(`${emisor.rfc}|imss`, 10)}`,
    }),
    element('nomina12:Receptor', {
      Curp: curpOf(receptor.rfc),
      NumSeguridadSocial: digitsOf(`${receptor.rfc}|nss`, 11),
      FechaInicioRelLaboral: nomina.inicio_relacion,
      Antigüedad: `P${Math.max(weeks, 0)}W`,
      TipoContrato: '01',
      Sindicalizado: 'No',
      TipoJornada: '01',
      TipoRegimen: '02',
      NumEmpleado: nomina.num_empleado,
      Departamento: 'Administración',
      Puesto: 'Analista',
      RiesgoPuesto: '1',
      PeriodicidadPago: '04',
      SalarioBaseCotApor: money(nomina.salario_diario),
      SalarioDiarioIntegrado: money(Math.floor((nomina.salario_diario * 10_493) / 10_000)),
      ClaveEntFed: 'CMX',
    }),
    element(
      'nomina12:Percepciones',
      { TotalSueldos: money(earned), TotalGravado: money(earned), TotalExento: '0.00' },
      perception('001', 'Sueldos, salarios, rayas y jornales', nomina.sueldo),
      perception('010', 'Premio por puntualidad', nomina.puntualidad),
    ),
    element(
      'nomina12:Deducciones',
      { TotalOtrasDeducciones: money(nomina.imss), TotalImpuestosRetenidos: money(nomina.isr) },
      deduction('001', 'Seguridad social', nomina.imss),
      deduction('002', 'ISR', nomina.isr),
    ),
    group('nomina12:OtrosPagos', {}, nomina.subsidio > 0 ? subsidy(money(nomina.subsidio)) : ''),
  )
}

const subsidy = (importe: string): string =>
  element(
    'nomina12:OtroPago',
    { TipoOtroPago: '002', Clave: '002', Concepto: 'Subsidio para el empleo', Importe: importe },
    element('nomina12:SubsidioAlEmpleo', { SubsidioCausado: importe }),
  )

/** Returns a text in the format of a CURP, derived from the RFC. Its second letter is a vowel or X. */
const curpOf = (rfc: string): string => {
  const letters = rfc.replaceAll(/[Ñ&]/g, 'X').replace(/^(.)[^AEIOUX]/, '$1X')
  const digits = digitsOf(`${rfc}|curp`, 2)
  return `${letters.slice(0, 10)}${Number(digits) % 2 === 0 ? 'H' : 'M'}DFRRL0${digits[1]}`
}

import { sumOf } from '../../platform/decimal.ts'
import type { Nomina } from './document.ts'
import { amount, dayIfReal, text, upper, versionOf } from './fields.ts'
import { type Node, type ParseState, path } from './parse-state.ts'
import type { Attributes } from './xml.ts'

const ISR = '002'

const common = (a: Attributes): Nomina => ({
  version: versionOf(a) || null,
  tipo_nomina: text(a, 'TipoNomina'),
  fecha_pago: dayIfReal(a, 'FechaPago'),
  fecha_inicial_pago: text(a, 'FechaInicialPago'),
  fecha_final_pago: text(a, 'FechaFinalPago'),
  num_dias_pagados: amount(a, 'NumDiasPagados'),
  total_percepciones: amount(a, 'TotalPercepciones'),
  total_deducciones: amount(a, 'TotalDeducciones'),
  total_otros_pagos: amount(a, 'TotalOtrosPagos'),
  total_gravado: null,
  total_exento: null,
  isr_retenido: null,
  num_empleado: null,
  curp: null,
  num_seguridad_social: null,
  tipo_contrato: null,
  tipo_regimen: null,
  periodicidad_pago: null,
  salario_diario_integrado: null,
  antiguedad: null,
})

const worker = (a: Attributes, curp: string, antiguedad: string): Partial<Nomina> => ({
  num_empleado: text(a, 'NumEmpleado'),
  curp: upper(a, curp),
  num_seguridad_social: text(a, 'NumSeguridadSocial'),
  tipo_contrato: text(a, 'TipoContrato'),
  tipo_regimen: text(a, 'TipoRegimen'),
  periodicidad_pago: text(a, 'PeriodicidadPago'),
  salario_diario_integrado: amount(a, 'SalarioDiarioIntegrado'),
  antiguedad: text(a, antiguedad),
})

const addIsr = (state: ParseState, a: Attributes, ...importes: string[]): void => {
  const { nomina } = state
  if (nomina === null || text(a, 'TipoDeduccion') !== ISR) return
  for (const name of importes) {
    const importe = amount(a, name)
    if (importe !== null) nomina.isr_retenido = nomina.isr_retenido === null ? importe : sumOf(nomina.isr_retenido, importe)
  }
}

const percepciones: Node = {
  open: ({ nomina }, a) => {
    if (nomina === null) return
    nomina.total_gravado = amount(a, 'TotalGravado')
    nomina.total_exento = amount(a, 'TotalExento')
  },
}

const start = (state: ParseState, nomina: Nomina): void => {
  state.nomina = nomina
  state.document.nominas.push(nomina)
}

/** Nómina 1.1: the root element has everything about the worker. */
export const nomina11: Node = {
  open: (state, a) => start(state, { ...common(a), ...worker(a, 'CURP', 'Antiguedad') }),
  ...path({
    Percepciones: percepciones,
    Deducciones: path({ Deduccion: { open: (state, a) => addIsr(state, a, 'ImporteGravado', 'ImporteExento') } }),
  }),
}

/** Nómina 1.2. */
export const nomina12: Node = {
  open: (state, a) => start(state, common(a)),
  ...path({
    Receptor: { open: ({ nomina }, a) => void (nomina && Object.assign(nomina, worker(a, 'Curp', 'Antigüedad'))) },
    Percepciones: percepciones,
    Deducciones: path({ Deduccion: { open: (state, a) => addIsr(state, a, 'Importe') } }),
  }),
}

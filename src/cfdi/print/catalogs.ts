import pedimentos from '@nodecfdi/sat-micro-catalogs/raw/cce_20_claves_pedimentos' with { type: 'json' }
import incoterms from '@nodecfdi/sat-micro-catalogs/raw/cce_20_incoterms' with { type: 'json' }
import motivosTraslado from '@nodecfdi/sat-micro-catalogs/raw/cce_20_motivos_traslado' with { type: 'json' }
import unidadesAduana from '@nodecfdi/sat-micro-catalogs/raw/cce_20_unidades_medida' with { type: 'json' }
import condiciones from '@nodecfdi/sat-micro-catalogs/raw/ccp_31_condiciones_especiales' with { type: 'json' }
import vehiculos from '@nodecfdi/sat-micro-catalogs/raw/ccp_31_configuraciones_autotransporte' with { type: 'json' }
import documentosAduaneros from '@nodecfdi/sat-micro-catalogs/raw/ccp_31_documentos_aduaneros' with { type: 'json' }
import figuras from '@nodecfdi/sat-micro-catalogs/raw/ccp_31_figuras_transporte' with { type: 'json' }
import formasFarmaceuticas from '@nodecfdi/sat-micro-catalogs/raw/ccp_31_formas_farmaceuticas' with { type: 'json' }
import partesTransporte from '@nodecfdi/sat-micro-catalogs/raw/ccp_31_partes_transporte' with { type: 'json' }
import regimenesAduaneros from '@nodecfdi/sat-micro-catalogs/raw/ccp_31_regimenes_aduaneros' with { type: 'json' }
import cofepris from '@nodecfdi/sat-micro-catalogs/raw/ccp_31_sectores_cofepris' with { type: 'json' }
import embalajes from '@nodecfdi/sat-micro-catalogs/raw/ccp_31_tipos_embalaje' with { type: 'json' }
import estaciones from '@nodecfdi/sat-micro-catalogs/raw/ccp_31_tipos_estacion' with { type: 'json' }
import materias from '@nodecfdi/sat-micro-catalogs/raw/ccp_31_tipos_materia' with { type: 'json' }
import permisos from '@nodecfdi/sat-micro-catalogs/raw/ccp_31_tipos_permiso' with { type: 'json' }
import remolques from '@nodecfdi/sat-micro-catalogs/raw/ccp_31_tipos_remolque' with { type: 'json' }
import transportes from '@nodecfdi/sat-micro-catalogs/raw/ccp_31_transportes' with { type: 'json' }
import exportaciones from '@nodecfdi/sat-micro-catalogs/raw/cfdi_40_exportaciones' with { type: 'json' }
import impuestos from '@nodecfdi/sat-micro-catalogs/raw/cfdi_40_impuestos' with { type: 'json' }
import meses from '@nodecfdi/sat-micro-catalogs/raw/cfdi_40_meses' with { type: 'json' }
import objetos from '@nodecfdi/sat-micro-catalogs/raw/cfdi_40_objetos_impuestos' with { type: 'json' }
import periodicidades from '@nodecfdi/sat-micro-catalogs/raw/cfdi_40_periodicidades' with { type: 'json' }
import tipos from '@nodecfdi/sat-micro-catalogs/raw/cfdi_40_tipos_comprobantes' with { type: 'json' }
import estados from '@nodecfdi/sat-micro-catalogs/raw/nomina_estados' with { type: 'json' }
import origenes from '@nodecfdi/sat-micro-catalogs/raw/nomina_origenes_recursos' with { type: 'json' }
import periodicidadesPago from '@nodecfdi/sat-micro-catalogs/raw/nomina_periodicidades_pagos' with { type: 'json' }
import riesgos from '@nodecfdi/sat-micro-catalogs/raw/nomina_riesgos_puestos' with { type: 'json' }
import contratos from '@nodecfdi/sat-micro-catalogs/raw/nomina_tipos_contratos' with { type: 'json' }
import horas from '@nodecfdi/sat-micro-catalogs/raw/nomina_tipos_horas' with { type: 'json' }
import incapacidades from '@nodecfdi/sat-micro-catalogs/raw/nomina_tipos_incapacidades' with { type: 'json' }
import jornadas from '@nodecfdi/sat-micro-catalogs/raw/nomina_tipos_jornadas' with { type: 'json' }
import nominas from '@nodecfdi/sat-micro-catalogs/raw/nomina_tipos_nominas' with { type: 'json' }
import otrosPagos from '@nodecfdi/sat-micro-catalogs/raw/nomina_tipos_otros_pagos' with { type: 'json' }
import percepciones from '@nodecfdi/sat-micro-catalogs/raw/nomina_tipos_percepciones' with { type: 'json' }
import regimenes from '@nodecfdi/sat-micro-catalogs/raw/nomina_tipos_regimenes' with { type: 'json' }
import retenciones from '@nodecfdi/sat-micro-catalogs/raw/ret_20_claves_retencion' with { type: 'json' }
import periodos from '@nodecfdi/sat-micro-catalogs/raw/ret_20_periodos' with { type: 'json' }
import dividendos from '@nodecfdi/sat-micro-catalogs/raw/ret_20_tipos_dividendos_utilidades' with { type: 'json' }
import tiposImpuesto from '@nodecfdi/sat-micro-catalogs/raw/ret_20_tipos_impuestos' with { type: 'json' }
import pagosRetencion from '@nodecfdi/sat-micro-catalogs/raw/ret_20_tipos_pago_retencion' with { type: 'json' }
import { CODES } from '../codes.ts'

/** The first codes of c_TipoDeduccion, which the package lacks. The others say what they are in Concepto. */
const DEDUCCIONES = [
  ...['Seguridad social', 'ISR', 'Aportaciones a retiro, cesantía en edad avanzada y vejez', 'Otros', 'Aportaciones a fondo de vivienda'],
  ...['Descuento por incapacidad', 'Pensión alimenticia', 'Renta', 'Préstamos del fondo nacional de la vivienda para los trabajadores'],
  ...[
    'Pago por crédito de vivienda',
    'Pago de abonos INFONACOT',
    'Anticipo de salarios',
    'Pagos hechos con exceso al trabajador',
    'Errores',
  ],
  ...['Pérdidas', 'Averías', 'Adquisición de artículos producidos por la empresa o establecimiento'],
  ...['Cuotas para sociedades cooperativas y cajas de ahorro', 'Cuotas sindicales', 'Ausencia (ausentismo)', 'Cuotas obrero patronales'],
  ...['Impuestos locales', 'Aportaciones voluntarias'],
].map((texto, n) => ({ id: String(n + 1).padStart(3, '0'), texto }))

const MOTIVOS = {
  es: {
    '01': 'Comprobante emitido con errores con relación',
    '02': 'Comprobante emitido con errores sin relación',
    '03': 'No se llevó a cabo la operación',
    '04': 'Operación nominativa relacionada en una factura global',
  },
  en: {
    '01': 'Issued with errors, and substituted',
    '02': 'Issued with errors, and not substituted',
    '03': 'The operation did not take place',
    '04': 'Operation that a global invoice contains too',
  },
} as const

type Row = { id?: string; estado?: string; texto: string }
type Names = Readonly<Record<string, string>>

/** The catalogs of attributes, by their names in lower case. Those of `CODES` have names in both languages. */
const ROWS: Readonly<Record<string, readonly object[]>> = {
  tipodecomprobante: tipos,
  exportacion: exportaciones,
  ...{ impuesto: impuestos, impuestodr: impuestos, impuestop: impuestos, impuestoret: [...impuestos, ...tiposImpuesto] },
  ...{ objetoimp: objetos, objetoimpdr: objetos, periodicidad: periodicidades, meses },
  ...{ tiponomina: nominas, tipocontrato: contratos, tipojornada: jornadas, tiporegimen: regimenes, periodicidadpago: periodicidadesPago },
  ...{ riesgopuesto: riesgos, claveentfed: estados, tipopercepcion: percepciones, tipodeduccion: DEDUCCIONES, tipootropago: otrosPagos },
  ...{ tipohoras: horas, tipoincapacidad: incapacidades, origenrecurso: origenes },
  ...{ cvetransporte: transportes, viaentradasalida: transportes, permsct: permisos, configvehicular: vehiculos, subtiporem: remolques },
  ...{ tipofigura: figuras, partetransporte: partesTransporte, tipoestacion: estaciones, embalaje: embalajes, tipomateria: materias },
  ...{ regimenaduanero: regimenesAduaneros, tipodocumento: documentosAduaneros, condicionesesptransp: condiciones },
  ...{ formafarmaceutica: formasFarmaceuticas, sectorcofepris: cofepris, estado: estados },
  ...{ incoterm: incoterms, motivotraslado: motivosTraslado, clavedepedimento: pedimentos, unidadaduana: unidadesAduana },
  ...{ cveretenc: retenciones, mesini: periodos, mesfin: periodos, tipopagoret: pagosRetencion, cvetipdivoutil: dividendos },
}

/** The catalogs of `CODES`, by the names of attributes in lower case. */
const SHARED: Readonly<Record<string, keyof (typeof CODES)['es']>> = {
  ...{ formapago: 'forma_pago', formadepagop: 'forma_pago', metododepago: 'forma_pago' },
  ...{ metodopago: 'metodo_pago', metododepagodr: 'metodo_pago', usocfdi: 'uso_cfdi', tiporelacion: 'tipo_relacion' },
  ...{ regimenfiscal: 'regimen_fiscal', regimenfiscalreceptor: 'regimen_fiscal', regimenfiscale: 'regimen_fiscal' },
  ...{ regimenfiscalacuentaterceros: 'regimen_fiscal', claveunidad: 'clave_unidad' },
}

const known = new Map<string, Names>()

/** The catalog of an attribute by code; the names of the first row of a code count. */
function namesOf(attribute: string): Names | undefined {
  const rows = ROWS[attribute]
  if (rows === undefined) return undefined
  const names =
    known.get(attribute) ??
    Object.fromEntries((rows as Row[]).toReversed().map(({ id, estado, texto }) => [String(id ?? estado), texto.replace(/\.$/, '')]))
  known.set(attribute, names)
  return names
}

export type Language = 'es' | 'en'

/** What a code of an attribute is called in the catalogs of the authority. Undefined for what is no code. */
export function codeNameOf(attribute: string, code: string, language: Language): string | undefined {
  const name = attribute.toLowerCase()
  const shared = SHARED[name]
  const names: Names | undefined = shared === undefined ? namesOf(name) : CODES[language][shared]
  return names && Object.hasOwn(names, code) ? names[code] : undefined
}

/** What a reason of a cancellation is called. */
export const reasonOf = (code: string, language: Language): string | undefined => (MOTIVOS[language] as Names)[code]

import { complemento } from './complemento.ts'
import { type Retencion, withRelation } from './document.ts'
import { amount, lastEight, rfc, text, upper } from './fields.ts'
import { add, type Node, type ParseState, path, readFecha, single } from './parse-state.ts'
import type { Attributes } from './xml.ts'

const FOREIGN_RFC = 'XEXX010101000'

/** The attribute names in which the two versions differ. */
interface Names {
  certificado: string
  emisor: string
  receptor: string
  nacionalidad: string
  numRegIdTrib: string
  ejercicio: string
  totales: 'mont' | 'Mont'
  impuesto: string
  monto: string
}

const V1: Names = {
  certificado: 'NumCert',
  emisor: 'RFCEmisor',
  receptor: 'RFCRecep',
  nacionalidad: 'Nacionalidad',
  numRegIdTrib: 'NumRegIdTrib',
  ejercicio: 'Ejerc',
  totales: 'mont',
  impuesto: 'Impuesto',
  monto: 'montoRet',
}

const V2: Names = {
  certificado: 'NoCertificado',
  emisor: 'RfcE',
  receptor: 'RfcR',
  nacionalidad: 'NacionalidadR',
  numRegIdTrib: 'NumRegIdTribR',
  ejercicio: 'Ejercicio',
  totales: 'Mont',
  impuesto: 'ImpuestoRet',
  monto: 'MontoRet',
}

const open = (state: ParseState, a: Attributes, names: Names): void => {
  const { document } = state
  readFecha(state, a, 'FechaExp')
  document.folio = text(a, 'FolioInt')
  document.lugar_expedicion = text(a, 'LugarExpRetenc')
  document.no_certificado = text(a, names.certificado)
  document.sello_ultimos_8 = lastEight(a['Sello'])
  document.retencion = {
    clave: text(a, 'CveRetenc') ?? '',
    descripcion: text(a, 'DescRetenc'),
    mes_inicial: null,
    mes_final: null,
    ejercicio: null,
    nacionalidad_receptor: null,
    monto_total_operacion: null,
    monto_total_gravado: null,
    monto_total_exento: null,
    monto_total_retenido: null,
    impuestos: [],
  }
}

const retencion = (state: ParseState): Retencion => state.document.retencion as Retencion

const receptor = (names: Names): Node => ({
  open: (state, a) => {
    retencion(state).nacionalidad_receptor = text(a, names.nacionalidad)
  },
  ...path(
    single(
      {
        Nacional: {
          open: ({ document }, a) => {
            document.receptor_rfc = rfc(a, names.receptor, 'Receptor')
            document.receptor_nombre = text(a, 'NomDenRazSocR')
            document.receptor_domicilio_fiscal = text(a, 'DomicilioFiscalR')
          },
        },
        Extranjero: {
          open: ({ document }, a) => {
            document.receptor_rfc = FOREIGN_RFC
            document.receptor_nombre = text(a, 'NomDenRazSocR')
            document.receptor_num_reg_id_trib = text(a, names.numRegIdTrib)
          },
        },
      },
      'Receptor’s Nacional or Extranjero',
    ),
  ),
})

const totales = (names: Names): Node => ({
  open: (state, a) => {
    const read = retencion(state)
    read.monto_total_operacion = amount(a, `${names.totales}oTotOperacion`)
    read.monto_total_gravado = amount(a, `${names.totales}oTotGrav`)
    read.monto_total_exento = amount(a, `${names.totales}oTotExent`)
    read.monto_total_retenido = amount(a, `${names.totales}oTotRet`)
  },
  ...path({
    ImpRetenidos: {
      open: (state, a) => {
        retencion(state).impuestos.push({
          base: amount(a, 'BaseRet'),
          impuesto: text(a, names.impuesto),
          monto: amount(a, names.monto),
          tipo_pago: text(a, 'TipoPagoRet'),
        })
      },
    },
  }),
})

const retenciones = (names: Names): Node => ({
  open: (state, a) => open(state, a, names),
  ...path({
    ...single({
      CfdiRetenRelacionados: {
        open: ({ document }, a) => {
          const uuid = upper(a, 'UUID')
          const tipo_relacion = text(a, 'TipoRelacion') ?? ''
          document.tipo_relacion = withRelation(document.tipo_relacion, tipo_relacion)
          if (uuid !== null) add(document.relacionados, { tipo_relacion, uuid }, 'related documents')
        },
      },
      Emisor: {
        open: ({ document }, a) => {
          document.emisor_rfc = rfc(a, names.emisor, 'Emisor')
          document.emisor_nombre = text(a, 'NomDenRazSocE')
          document.emisor_regimen_fiscal = text(a, 'RegimenFiscalE')
        },
      },
      Receptor: receptor(names),
      Periodo: {
        open: (state, a) => {
          const read = retencion(state)
          read.mes_inicial = text(a, 'MesIni')
          read.mes_final = text(a, 'MesFin')
          read.ejercicio = text(a, names.ejercicio)
        },
      },
      Totales: totales(names),
    }),
    Complemento: complemento,
  }),
})

/** CFDI de retenciones e información de pagos 1.0. */
export const retenciones10 = retenciones(V1)

/** CFDI de retenciones e información de pagos 2.0. */
export const retenciones20 = retenciones(V2)

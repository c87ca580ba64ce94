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

/** c_Banco, which the package lacks: the banks of payrolls under the names that they had longest. */
const BANCOS = (
  '002:BANAMEX 006:BANCOMEXT 009:BANOBRAS 012:BBVA_MÉXICO 014:SANTANDER 019:BANJÉRCITO 021:HSBC 030:BAJÍO 032:IXE 036:INBURSA ' +
  '037:INTERACCIONES 042:MIFEL 044:SCOTIABANK 058:BANREGIO 059:INVEX 060:BANSÍ 062:AFIRME 072:BANORTE 102:THE_ROYAL_BANK ' +
  '103:AMERICAN_EXPRESS 106:BANK_OF_AMERICA 108:MUFG 110:JP_MORGAN 112:BMONEX 113:VE_POR_MÁS 116:ING 124:DEUTSCHE ' +
  '126:CREDIT_SUISSE 127:AZTECA 128:AUTOFIN 129:BARCLAYS 130:COMPARTAMOS 131:BANCO_FAMSA 132:MULTIVA 133:ACTINVER 134:WAL-MART ' +
  '135:NAFIN 136:INTERCAM 137:BANCOPPEL 138:ABC_CAPITAL 139:UBS_BANK 140:CONSUBANCO 141:VOLKSWAGEN 143:CIBANCO 145:BBASE ' +
  '147:BANKAOOL 148:PAGATODO 150:INMOBILIARIO 152:BANCREA 155:ICBC 156:SABADELL 166:BANSEFI 168:HIPOTECARIA_FEDERAL'
)
  .split(' ')
  .map((one) => ({ id: one.slice(0, 3), texto: one.slice(4).replaceAll('_', ' ') }))

/** The codes of c_Pais, ISO 3166-1 of three letters, each with that of two letters under which the runtime names it. */
const COUNTRIES = new Map(
  (
    'ABWAW AFGAF AGOAO AIAAI ALAAX ALBAL ANDAD AREAE ARGAR ARMAM ASMAS ATAAQ ATFTF ATGAG AUSAU AUTAT AZEAZ BDIBI BELBE BENBJ BESBQ ' +
    'BFABF BGDBD BGRBG BHRBH BHSBS BIHBA BLMBL BLRBY BLZBZ BMUBM BOLBO BRABR BRBBB BRNBN BTNBT BVTBV BWABW CAFCF CANCA CCKCC CHECH ' +
    'CHLCL CHNCN CIVCI CMRCM CODCD COGCG COKCK COLCO COMKM CPVCV CRICR CUBCU CUWCW CXRCX CYMKY CYPCY CZECZ DEUDE DJIDJ DMADM DNKDK ' +
    'DOMDO DZADZ ECUEC EGYEG ERIER ESHEH ESPES ESTEE ETHET FINFI FJIFJ FLKFK FRAFR FROFO FSMFM GABGA GBRGB GEOGE GGYGG GHAGH GIBGI ' +
    'GINGN GLPGP GMBGM GNBGW GNQGQ GRCGR GRDGD GRLGL GTMGT GUFGF GUMGU GUYGY HKGHK HMDHM HNDHN HRVHR HTIHT HUNHU IDNID IMNIM INDIN ' +
    'IOTIO IRLIE IRNIR IRQIQ ISLIS ISRIL ITAIT JAMJM JEYJE JORJO JPNJP KAZKZ KENKE KGZKG KHMKH KIRKI KNAKN KORKR KWTKW LAOLA LBNLB ' +
    'LBRLR LBYLY LCALC LIELI LKALK LSOLS LTULT LUXLU LVALV MACMO MAFMF MARMA MCOMC MDAMD MDGMG MDVMV MEXMX MHLMH MKDMK MLIML MLTMT ' +
    'MMRMM MNEME MNGMN MNPMP MOZMZ MRTMR MSRMS MTQMQ MUSMU MWIMW MYSMY MYTYT NAMNA NCLNC NERNE NFKNF NGANG NICNI NIUNU NLDNL NORNO ' +
    'NPLNP NRUNR NZLNZ OMNOM PAKPK PANPA PCNPN PERPE PHLPH PLWPW PNGPG POLPL PRIPR PRKKP PRTPT PRYPY PSEPS PYFPF QATQA REURE ROURO ' +
    'RUSRU RWARW SAUSA SDNSD SENSN SGPSG SGSGS SHNSH SJMSJ SLBSB SLESL SLVSV SMRSM SOMSO SPMPM SRBRS SSDSS STPST SURSR SVKSK SVNSI ' +
    'SWESE SWZSZ SXMSX SYCSC SYRSY TCATC TCDTD TGOTG THATH TJKTJ TKLTK TKMTM TLSTL TONTO TTOTT TUNTN TURTR TUVTV TWNTW TZATZ UGAUG ' +
    'UKRUA UMIUM URYUY USAUS UZBUZ VATVA VCTVC VENVE VGBVG VIRVI VNMVN VUTVU WLFWF WSMWS YEMYE ZAFZA ZMBZM ZWEZW'
  )
    .split(' ')
    .map((one) => [one.slice(0, 3), one.slice(3)]),
)

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
  ...{ banco: BANCOS, tipohoras: horas, tipoincapacidad: incapacidades, origenrecurso: origenes },
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

/** Attributes with a currency or a country. */
const CURRENCY = /^moneda(p|dr)?$/
const COUNTRY = /^(pais\w*|residenciafiscal|nacionalidad|paisresidencia\w*)$/
const NO_CURRENCY = { es: 'Sin moneda', en: 'No currency' }

/** What the runtime calls a currency or country. Undefined for what is none. */
function worldNameOf(name: string, code: string, language: Language): string | undefined {
  const namesIn = (type: 'currency' | 'region') => new Intl.DisplayNames(language === 'es' ? 'es-MX' : 'en', { type, fallback: 'none' })
  if (CURRENCY.test(name) && /^[A-Z]{3}$/.test(code)) return code === 'XXX' ? NO_CURRENCY[language] : namesIn('currency').of(code)
  const country = COUNTRY.test(name) ? COUNTRIES.get(code) : undefined
  return country && namesIn('region').of(country)
}

const worldNames = new Map<string, string | undefined>()

/** What a code of an attribute is called in the catalogs of the authority. Undefined for what is no code. */
export function codeNameOf(attribute: string, code: string, language: Language): string | undefined {
  const name = attribute.toLowerCase()
  if (CURRENCY.test(name) || COUNTRY.test(name)) {
    const key = `${language}${name}${code}`
    if (!worldNames.has(key) && worldNames.size < 2_000) worldNames.set(key, worldNameOf(name, code, language))
    return worldNames.get(key)
  }
  const shared = SHARED[name]
  const names: Names | undefined = shared === undefined ? namesOf(name) : CODES[language][shared]
  return names && Object.hasOwn(names, code) ? names[code] : undefined
}

/** What a reason of a cancellation is called. */
export const reasonOf = (code: string, language: Language): string | undefined => (MOTIVOS[language] as Names)[code]

/** The other lists on which a taxpayer in each situation of 69-B is. */
const LISTS = {
  presunto: ['sat_69_firmes', 'sat_69_no_localizados'],
  definitivo: ['sat_69_exigibles', 'sat_csd_sin_efectos'],
  desvirtuado: ['sat_69_cancelados', 'sat_69_sentencias'],
  sentencia_favorable: ['sat_69_condonados', 'sat_69b_bis'],
} as const

/**
 * Taxpayers on the sandbox's blacklists. Every RFC of the sandbox buys from the first four and sells to the others, so that suppliers and
 * customers are in each situation of 69-B, and on each other list.
 */
export const LISTED = (
  [
    ['SIG1104156T0', 'SERVICIOS INTEGRALES DEL GOLFO SIG', 'presunto'],
    ['CEM0902203B9', 'CONSULTORIA EMPRESARIAL MEZQUITE', 'definitivo'],
    ['PUA1306118L8', 'PUBLICIDAD URBANA ATLAS', 'desvirtuado'],
    ['MTL0710259Q4', 'MATERIALES TLALNE', 'sentencia_favorable'],
    ['CDS1208037H1', 'COMERCIALIZADORA DOS SOLES', 'presunto'],
    ['ICV0505194K8', 'INMUEBLES Y CONSTRUCCIONES VALDOR', 'definitivo'],
    ['DPA1009126M5', 'DISTRIBUIDORA PACIFICO AZUL', 'desvirtuado'],
    ['GAE0803281R5', 'GRUPO AGRICOLA EL ENEBRO', 'sentencia_favorable'],
  ] as const
).map(([rfc, nombre, situacion]) => ({ rfc, nombre, situacion, lists: LISTS[situacion] }))

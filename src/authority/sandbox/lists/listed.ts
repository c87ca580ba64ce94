/**
 * Taxpayers on the sandbox's blacklists. Every RFC of the sandbox buys from the first four and sells to the others, so that suppliers and
 * customers are in each situation of 69-B, and on each other list.
 */
export const LISTED = [
  {
    rfc: 'SIG1104156T0',
    nombre: 'SERVICIOS INTEGRALES DEL GOLFO SIG',
    situacion: 'presunto',
    lists: ['sat_69_firmes', 'sat_69_no_localizados'],
  },
  {
    rfc: 'CEM0902203B9',
    nombre: 'CONSULTORIA EMPRESARIAL MEZQUITE',
    situacion: 'definitivo',
    lists: ['sat_69_exigibles', 'sat_csd_sin_efectos'],
  },
  { rfc: 'PUA1306118L8', nombre: 'PUBLICIDAD URBANA ATLAS', situacion: 'desvirtuado', lists: ['sat_69_cancelados', 'sat_69_sentencias'] },
  { rfc: 'MTL0710259Q4', nombre: 'MATERIALES TLALNE', situacion: 'sentencia_favorable', lists: ['sat_69_condonados', 'sat_69b_bis'] },
  { rfc: 'CDS1208037H1', nombre: 'COMERCIALIZADORA DOS SOLES', situacion: 'presunto', lists: ['sat_69_firmes', 'sat_69_no_localizados'] },
  {
    rfc: 'ICV0505194K8',
    nombre: 'INMUEBLES Y CONSTRUCCIONES VALDOR',
    situacion: 'definitivo',
    lists: ['sat_69_exigibles', 'sat_csd_sin_efectos'],
  },
  {
    rfc: 'DPA1009126M5',
    nombre: 'DISTRIBUIDORA PACIFICO AZUL',
    situacion: 'desvirtuado',
    lists: ['sat_69_cancelados', 'sat_69_sentencias'],
  },
  {
    rfc: 'GAE0803281R5',
    nombre: 'GRUPO AGRICOLA EL ENEBRO',
    situacion: 'sentencia_favorable',
    lists: ['sat_69_condonados', 'sat_69b_bis'],
  },
] as const

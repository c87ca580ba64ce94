const es = {
  title: 'Indicadores de riesgo',
  lead: 'Doce señales de un RFC, cada una con su umbral y su fórmula.',
  documents: 'Ver los CFDI con riesgo, uno por uno',
  risky: 'Fuera del umbral',
  fine: 'Dentro del umbral',
  unknown: 'Sin datos',
  threshold: (value: string) => `Umbral: ${value}`,
  sample: (n: string) => `de ${n}`,
  onNoList: 'En ninguna lista',
  anyList: 'Umbral: cualquier lista vigente',
  names: {
    tax_compliance: 'Opinión de cumplimiento (32-D)',
    blacklist_status: 'El propio RFC en listas',
    blacklisted_counterparties: 'Contrapartes en el 69-B',
    intercompany_share: 'Entre empresas propias',
    customer_concentration: 'Concentración de clientes (HHI)',
    supplier_concentration: 'Concentración de proveedores (HHI)',
    foreign_exchange_share: 'Ventas en otra moneda',
    cash_share: 'Cobrado en efectivo',
    cancelled_issued_rate: 'Emitidas canceladas',
    cancelled_received_rate: 'Recibidas canceladas',
    ppd_overdue_share: 'Saldo vencido por cobrar',
    repse_at_risk_share: 'Sin REPSE vigente al pagar',
  },
  value: {
    positivo: 'Positiva',
    negativo: 'Negativa',
    en_suspension: 'En suspensión',
    inscrito_sin_obligaciones: 'Inscrito sin obligaciones',
    no_inscrito: 'No inscrito',
    presunto: 'Presunto',
    definitivo: 'Definitivo',
    sat_69b: 'Listado 69-B',
    sat_69b_bis: 'Listado 69-B Bis',
  } as Record<string, string>,
  formulas: {
    'sense of the latest compliance opinion (32-D); risky unless positivo, en_suspension or inscrito_sin_obligaciones':
      'sentido de la última opinión de cumplimiento (32-D); hay riesgo salvo positivo, en_suspension o inscrito_sin_obligaciones',
    'the most severe active listing of the RFC itself; risky if there is one':
      'la lista vigente más grave en que está el propio RFC; hay riesgo si está en alguna',
    'distinct counterparties of I and E that are presunto or definitivo on the list of article 69-B today':
      'contrapartes distintas de I y E que hoy son presuntas o definitivas en el listado del artículo 69-B',
    'net of I − E with other RFCs that the organization connected ÷ net of I − E, both directions':
      'neto de I − E con otros RFC que la organización conectó ÷ neto de I − E, emitido y recibido',
    'Herfindahl-Hirschman index of issued net amounts by customer (GET /v1/cfdi/concentration)':
      'índice Herfindahl-Hirschman de los importes netos emitidos, por cliente (GET /v1/cfdi/concentration)',
    'Herfindahl-Hirschman index of received net amounts by supplier':
      'índice Herfindahl-Hirschman de los importes netos recibidos, por proveedor',
    'issued net in other currencies than MXN ÷ issued net, in MXN': 'neto emitido en monedas distintas de MXN ÷ neto emitido, en MXN',
    'total of issued I with forma_pago 01 ÷ total of issued I': 'total de I emitidas con forma_pago 01 ÷ total de I emitidas',
    'cancelled issued I ÷ all issued I, without substituted ones': 'I emitidas canceladas ÷ todas las I emitidas, sin las sustituidas',
    'cancelled received I ÷ all received I, without substituted ones':
      'I recibidas canceladas ÷ todas las I recibidas, sin las sustituidas',
    'overdue balances ÷ open balances of issued PPD I, today, at the rate of the invoice':
      'saldos vencidos ÷ saldos de I emitidas PPD, hoy, al tipo de cambio de la factura',
    'net of received I with the flag repse_not_valid_at_payment ÷ net of received I':
      'neto de I recibidas con la señal repse_not_valid_at_payment ÷ neto de I recibidas',
    'Thresholds are proposed. Lists, the REPSE registry and open balances are read as they are today.':
      'Los umbrales son una propuesta. Las listas, el REPSE y los saldos se leen como están hoy.',
    'Only suppliers that the REPSE registry was asked about can be flagged: GET /v1/cfdi/repse-suppliers queues the look-ups, 50 in a request, and nothing else does.':
      'Solo se señala a proveedores que se consultaron en el REPSE: GET /v1/cfdi/repse-suppliers pide las consultas, 50 cada vez, y nada más las pide.',
  } as Record<string, string>,
}
const en: typeof es = {
  title: 'Risk indicators',
  lead: 'Twelve signals of an RFC, each with its threshold and its formula.',
  documents: 'See the CFDIs at risk, one by one',
  risky: 'Beyond the threshold',
  fine: 'Within the threshold',
  unknown: 'No data',
  threshold: (value) => `Threshold: ${value}`,
  sample: (n) => `of ${n}`,
  onNoList: 'On no list',
  anyList: 'Threshold: any active list',
  names: {
    tax_compliance: 'Compliance opinion (32-D)',
    blacklist_status: 'The RFC itself on lists',
    blacklisted_counterparties: 'Counterparties on the 69-B list',
    intercompany_share: 'Between your own companies',
    customer_concentration: 'Customer concentration (HHI)',
    supplier_concentration: 'Supplier concentration (HHI)',
    foreign_exchange_share: 'Sales in other currencies',
    cash_share: 'Collected in cash',
    cancelled_issued_rate: 'Issued and cancelled',
    cancelled_received_rate: 'Received and cancelled',
    ppd_overdue_share: 'Overdue receivables',
    repse_at_risk_share: 'Without a valid REPSE when paid',
  },
  value: {
    positivo: 'Positive',
    negativo: 'Negative',
    en_suspension: 'In suspension',
    inscrito_sin_obligaciones: 'Registered without obligations',
    no_inscrito: 'Not registered',
    presunto: 'Presumed',
    definitivo: 'Definitive',
    sat_69b: '69-B list',
    sat_69b_bis: '69-B Bis list',
  },
  formulas: {},
}
export const words = { es, en }

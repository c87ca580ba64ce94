const es = {
  source: { sat_cfdi_issued: 'Emitidos', sat_cfdi_received: 'Recibidos' },
  state: {
    complete: 'Completo',
    partial: 'Parcial',
    requested: 'En camino',
    waiting: 'Espera al SAT',
    missing: 'Falta',
    unobtainable: 'El SAT no lo entrega',
  },
  label: (complete: number, all: number) => `Meses por fuente: ${complete} de ${all} completos`,
  none: 'Todavía no hay meses: el primero aparece cuando empieza la descarga.',
}
const en: typeof es = {
  source: { sat_cfdi_issued: 'Issued', sat_cfdi_received: 'Received' },
  state: {
    complete: 'Complete',
    partial: 'Partial',
    requested: 'On its way',
    waiting: 'Waits for SAT',
    missing: 'Missing',
    unobtainable: 'SAT does not deliver it',
  },
  label: (complete, all) => `Months by source: ${complete} of ${all} complete`,
  none: 'No months yet: the first one appears when the download begins.',
}
export const matrixWords = { es, en }

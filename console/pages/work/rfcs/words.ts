const es = {
  title: 'RFC conectados',
  lead: 'Qué se está descargando, qué falta y qué requiere de usted.',
  connect: 'Conectar RFC',
  active: 'Activos',
  attention: 'Requieren atención',
  all: 'Todos',
  none: 'Aún no hay RFC',
  noneLead: 'Conecte el primero con su RFC y su CIEC o e.firma; la descarga empieza en segundos.',
}
const en: typeof es = {
  title: 'Connected RFCs',
  lead: 'What is being downloaded, what is missing, and what needs you.',
  connect: 'Connect an RFC',
  active: 'Active',
  attention: 'Need attention',
  all: 'All',
  none: 'No RFC yet',
  noneLead: 'Connect the first one with its RFC and its CIEC or e.firma; the download begins in seconds.',
}
export const words = { es, en }

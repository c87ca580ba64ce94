const es = {
  rfcs: 'De qué RFC',
  all: 'De todos, también de los que conecte después',
  some: 'Solo de algunos',
  which: 'RFC elegidos',
  noRfcs: 'Todavía no hay RFC conectados.',
  cancel: 'Cancelar',
}
const en: typeof es = {
  rfcs: 'Of which RFCs',
  all: 'Of all, and of those that you connect later',
  some: 'Only of some',
  which: 'Chosen RFCs',
  noRfcs: 'No RFC is connected yet.',
  cancel: 'Cancel',
}
export const words = { es, en }

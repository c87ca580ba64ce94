const es = {
  title: 'Organización',
  lead: 'Cómo se llama, a dónde se le escribe y en qué zona está.',
  name: 'Nombre',
  contact: 'Correo de contacto',
  logo: 'Dirección del logotipo',
  logoHint: 'Empieza con https://. Vacía, quita el logotipo.',
  zone: 'Zona horaria',
  zoneHint:
    'Decide en qué zona se muestran las horas y qué día es para facturas, límites diarios y vencimientos. Los extractores tienen la suya.',
  mexico: 'México',
  others: 'Otras',
  save: 'Guardar',
  saved: 'Guardado.',
  id: 'Identificador',
  members: 'Personas',
  rfcs: 'RFC activos',
}
const en: typeof es = {
  title: 'Organization',
  lead: 'What it is called, where it is written to, and its zone.',
  name: 'Name',
  contact: 'Contact e-mail',
  logo: 'Address of the logo',
  logoHint: 'It begins with https://. An empty one removes the logo.',
  zone: 'Time zone',
  zoneHint:
    'Decides in which zone times are shown, and which day it is for invoices, daily limits and expiries. Extractors have their own.',
  mexico: 'Mexico',
  others: 'Others',
  save: 'Save',
  saved: 'Saved.',
  id: 'Identifier',
  members: 'People',
  rfcs: 'Active RFCs',
}
export const words = { es, en }

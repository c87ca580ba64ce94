/** Names that the service gives to credentials, in Spanish. */
const MADE: Record<string, string> = { 'Sign-up': 'Registro', Invitation: 'Invitación' }

/** What the pages of the account say alike. */
const es = {
  role: 'Rol',
  rolesTitle: 'Qué puede cada rol',
  rfcs: 'RFC',
  allRfcs: 'Todos',
  roles: { owner: 'Propietario', admin: 'Administrador', member: 'Miembro' },
  choices: { owner: 'Propietario', admin: 'Administrador', member: 'Miembro (solo consulta)' },
  may: {
    owner: 'Hace todo, también con otros propietarios.',
    admin: 'Conecta RFC, configura, invita y crea credenciales.',
    member: 'Solo consulta: ve y descarga, y no cambia nada. No ve la auditoría, ni las descargas, ni lo que un extractor descargaría.',
  },
  actions: 'Acciones',
  cancel: 'Cancelar',
  save: 'Guardar',
  never: 'Nunca',
  onlyNow: 'Cópielo ahora: solo se muestra esta vez.',
  kept: 'Ya lo guardé',
  credential: (name: string) => MADE[name] ?? name,
}
const en: typeof es = {
  role: 'Role',
  rolesTitle: 'What each role may do',
  rfcs: 'RFCs',
  allRfcs: 'All',
  roles: { owner: 'Owner', admin: 'Administrator', member: 'Member' },
  choices: { owner: 'Owner', admin: 'Administrator', member: 'Member (reads only)' },
  may: {
    owner: 'Does everything, with other owners too.',
    admin: 'Connects RFCs, configures, invites and creates credentials.',
    member: 'Only reads: sees and downloads, and changes nothing. Sees neither the audit, nor runs, nor what an extractor would download.',
  },
  actions: 'Actions',
  cancel: 'Cancel',
  save: 'Save',
  never: 'Never',
  onlyNow: 'Copy it now: it is shown only this once.',
  kept: 'I have kept it',
  credential: (name) => name,
}
export const words = { es, en }

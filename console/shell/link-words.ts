const es = {
  title: 'Entrar con un enlace',
  looking: 'Viendo a quién pertenece el enlace…',
  lead: 'Este enlace entra a la consola como:',
  organization: 'Organización',
  person: 'Persona',
  role: 'Rol',
  key: 'Clave (api_key)',
  care: 'Continúe solo si conoce a quien le dio el enlace: todo lo que conecte o suba después quedará en esa organización.',
  already: (person: string, organization: string) =>
    `Ya está en la consola como ${person}, de ${organization}. Si cambia, esa sesión se cierra.`,
  enter: (organization: string) => `Entrar a ${organization}`,
  change: (organization: string) => `Cambiar a ${organization}`,
  choose: (email: string) => `Este enlace es de ${email}. Elija a dónde entrar; este navegador lo recuerda 30 días.`,
  nowhere: (email: string) =>
    `Nadie con el correo ${email} tiene acceso vigente a una organización. Pida a un propietario o administrador que le invite otra vez.`,
  refuse: 'No usar el enlace',
  stay: (organization: string) => `Seguir en ${organization}`,
}
const en: typeof es = {
  title: 'Sign in with a link',
  looking: 'Looking whose link this is…',
  lead: 'This link signs in to the console as:',
  organization: 'Organization',
  person: 'Person',
  role: 'Role',
  key: 'Key (api_key)',
  care: 'Go on only if you know who gave you the link: everything that you connect or upload afterwards goes to that organization.',
  already: (person, organization) => `You are signed in as ${person}, of ${organization}. If you change, that session ends.`,
  enter: (organization) => `Sign in to ${organization}`,
  change: (organization) => `Change to ${organization}`,
  choose: (email) => `This link is of ${email}. Choose where to go; this browser remembers it for 30 days.`,
  nowhere: (email) =>
    `Nobody with the address ${email} has valid access to an organization. Ask an owner or administrator to invite you again.`,
  refuse: 'Do not use the link',
  stay: (organization) => `Stay in ${organization}`,
}
export const linkWords = { es, en }

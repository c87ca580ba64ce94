const es = {
  title: 'Confirmar su correo',
  looking: 'Viendo de quién es el enlace…',
  lead: 'Alguien creó esta cuenta con su correo:',
  organization: 'Organización',
  name: 'Nombre',
  email: 'Correo',
  care: 'Confirme solo si usted creó la cuenta. La prueba gratuita de este correo quedará en esa organización.',
  confirm: 'Es mía: confirmar el correo',
  refuse: 'No es mía',
  confirmed: (email: string) => `El correo ${email} está confirmado. La cuenta ya puede conectar RFC e importar CFDI.`,
  go: 'Continuar',
}
const en: typeof es = {
  title: 'Confirm your e-mail address',
  looking: 'Looking whose link this is…',
  lead: 'Somebody created this account with your address:',
  organization: 'Organization',
  name: 'Name',
  email: 'E-mail',
  care: 'Confirm only if you created the account. The free trial of this address goes to that organization.',
  confirm: 'It is mine: confirm the address',
  refuse: 'It is not mine',
  confirmed: (email) => `The address ${email} is confirmed. The account can now connect RFCs and import CFDIs.`,
  go: 'Continue',
}
export const confirmWords = { es, en }

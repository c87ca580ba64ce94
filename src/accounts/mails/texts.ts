/** What strangers have typed is not in it: a sign-up sends nobody's words to anybody. */
export const confirmationMail = (link: string) => ({
  subject: 'Confirme su correo · Confirm your e-mail address',
  text: `Alguien creó una cuenta con este correo. Si fue usted, abra este enlace y confirme su correo. El enlace sirve una vez, durante 24 horas:

${link}

Si no fue usted, no haga nada: sin confirmar, esa cuenta no puede conectar ningún RFC, y su correo queda libre para una cuenta suya.

--

Somebody created an account with this e-mail address. If it was you, open this link and confirm your address. It can be used once, within 24 hours:

${link}

If it was not you, do nothing: without the confirmation that account cannot connect any RFC, and your address stays free for an account of yours.
`,
})

export const signInMail = (link: string) => ({
  subject: 'Su enlace para entrar · Your sign-in link',
  text: `Abra este enlace para entrar a la consola. Sirve una vez, durante 15 minutos:

${link}

Si usted no lo pidió, no haga nada: sin el enlace nadie entra.

--

Open this link to sign in to the console. It can be used once, within 15 minutes:

${link}

If you did not ask for it, do nothing: nobody signs in without the link.
`,
})

const DAY = { timeZone: 'UTC', day: 'numeric', month: 'long', year: 'numeric' } as const

/** A text of others, in which a mail program finds no address to make a link of. */
export const unlinked = (text: string): string => text.replace(/\.(?=\p{L})/gu, '. ').replace(/:\/\/|@/g, ' ')

/**
 * A name that somebody typed, as a mail to others may have it: mail programs make links of what looks like an address, so that nothing in it does,
 * and it is short.
 */
export const harmless = (name: string): string =>
  unlinked(name.replace(/[^\p{L}\p{M}\p{N} &.,'’()-]/gu, ' '))
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, 80)

/** Of what the inviter typed, only the name of the organization is in it. */
export const invitationMail = (organization: string, until: Date, link: string) => ({
  subject: `Invitación a ${harmless(organization)} · Invitation`,
  text: `La organización «${harmless(organization)}» le invita a su cuenta en nuestro servicio de datos fiscales. Para aceptar, abra este enlace. Sirve una vez, hasta el ${until.toLocaleDateString('es-MX', DAY)}:

${link}

La página dice quién invita y con qué rol antes de que usted acepte. Si no esperaba la invitación, no haga nada.

--

The organization “${harmless(organization)}” invites you to its account with our fiscal data service. To accept, open this link. It can be used once, until ${until.toLocaleDateString('en-GB', DAY)}:

${link}

The page says who invites you and with which role before you accept. If you did not expect the invitation, do nothing.
`,
})

/** The end of a mail to a member: why it comes, and how to end such mails. */
export const leaving = (language: 'es' | 'en', kind: 'alerts' | 'digest', link: string): string =>
  language === 'es'
    ? `Recibe este correo como miembro de la organización. Para no recibir más ${kind === 'alerts' ? 'alertas' : 'resúmenes'} por correo, sin entrar: ${link}\n`
    : `You get this mail as a member of the organization. To get no more ${kind === 'alerts' ? 'alerts' : 'digests'} by mail, without signing in: ${link}\n`

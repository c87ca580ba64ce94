/** Answers of the authority's web services, as they look on the wire. */

const ENVELOPE = 'http://schemas.xmlsoap.org/soap/envelope/'
const DES = 'http://DescargaMasivaTerceros.sat.gob.mx'
const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
const attributes = (all: Readonly<Record<string, string>>): string =>
  Object.entries(all)
    .map(([name, value]) => ` ${name}="${escaped(value)}"`)
    .join('')

export const envelope = (body: string, header = ''): string =>
  `<s:Envelope xmlns:s="${ENVELOPE}">${header && `<s:Header>${header}</s:Header>`}<s:Body>${body}</s:Body></s:Envelope>`

export const tokenAnswer = (token: string, times?: readonly [created: string, expires: string]): string =>
  envelope(
    `<AutenticaResponse xmlns="http://DescargaMasivaTerceros.gob.mx"><AutenticaResult>${token}</AutenticaResult></AutenticaResponse>`,
    times &&
      '<o:Security xmlns:o="urn:o" xmlns:u="urn:u" s:mustUnderstand="1"><u:Timestamp u:Id="_0">' +
        `<u:Created>${times[0]}</u:Created><u:Expires>${times[1]}</u:Expires></u:Timestamp></o:Security>`,
  )

export const requestAnswer = (stated: Readonly<Record<string, string>>, operation = 'SolicitaDescargaRecibidos'): string =>
  envelope(`<${operation}Response xmlns="${DES}"><${operation}Result${attributes(stated)}/></${operation}Response>`)

export const verificationAnswer = (stated: Readonly<Record<string, string>>, packages: readonly string[] = []): string => {
  const ids = packages.map((id) => `<IdsPaquetes>${id}</IdsPaquetes>`).join('')
  const name = 'VerificaSolicitudDescarga'
  return envelope(`<${name}Response xmlns="${DES}"><${name}Result${attributes(stated)}>${ids}</${name}Result></${name}Response>`)
}

export const packageAnswer = (base64: string, CodEstatus = '5000', Mensaje = 'Solicitud Aceptada'): string =>
  envelope(
    `<RespuestaDescargaMasivaTercerosSalida xmlns="${DES}"><Paquete>${base64}</Paquete></RespuestaDescargaMasivaTercerosSalida>`,
    `<h:respuesta${attributes({ CodEstatus, Mensaje })} xmlns:h="${DES}" xmlns="${DES}"/>`,
  )

export const faultAnswer = (code: string, text: string): string =>
  envelope(`<s:Fault><faultcode xmlns:a="urn:a">\n  a:${code}\n</faultcode><faultstring xml:lang="en-US">${text}</faultstring></s:Fault>`)

export const statusAnswer = (fields: Readonly<Record<string, string | null>>, prefix = 'a:'): string => {
  const elements = Object.entries(fields).map(([name, value]) =>
    value === null ? `<${prefix}${name} i:nil="true"/>` : `<${prefix}${name}>${escaped(value)}</${prefix}${name}>`,
  )
  const declared = 'xmlns:a="urn:a" xmlns:i="http://www.w3.org/2001/XMLSchema-instance"'
  return envelope(
    `<ConsultaResponse xmlns="http://tempuri.org/"><ConsultaResult ${declared}>${elements.join('')}</ConsultaResult></ConsultaResponse>`,
  )
}

export const PAGE = '<!DOCTYPE html PUBLIC "x"><html><head><title>Servicio no disponible</title></head><body><br><p>503</body></html>'

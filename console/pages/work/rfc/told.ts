import type { FiscalEntity } from '../../../api/routes.d.ts'

/** What a download was answered, sentence by sentence, in Spanish: the API speaks English. */
export const ANSWERS: Record<string, string> = {
  'A package of the tax authority could not be read.': 'Un paquete del SAT no se pudo leer.',
  'It is asked again later.': 'Se pregunta otra vez más tarde.',
  'It is asked for anew.': 'Se pide de nuevo.',
  'Not everything of the month has come up to your last run.': 'No ha llegado todo lo del mes hasta su última descarga.',
  'The next run that covers the month asks for the rest.': 'La siguiente descarga que abarque el mes pide el resto.',
  'Its operator is told.': 'Quien lo opera recibe el aviso.',
  'Some of what the tax authority delivered could not be kept.': 'Parte de lo que el SAT entregó no se pudo guardar.',
  'The answer of the tax authority ended too early.': 'La respuesta del SAT llegó incompleta.',
  'The document is cancelled, and the tax authority does not deliver it.': 'El documento está cancelado y el SAT no lo entrega.',
  'The download failed.': 'La descarga falló.',
  'The download waits for another one.': 'La descarga espera otro.',
  'The list of the month says what, and why.': 'La lista del mes dice qué, y por qué.',
  'The metadata lists fewer documents than the tax authority announced.': 'La lista trae menos documentos que los que el SAT anunció.',
  'The next run asks for what it has not delivered.': 'La siguiente descarga pide lo que no ha entregado.',
  'The next run asks for it again.': 'La siguiente descarga lo pide otra vez.',
  'The operator of the service has to look at it.': 'Lo debe revisar quien opera el servicio.',
  'The packages are ready.': 'Los paquetes están listos.',
  'The request matches more documents than one request may.': 'La solicitud abarca más documentos que los que admite una sola.',
  'The request matches more documents than the tax authority delivers at once.':
    'La solicitud abarca más documentos que los que el SAT entrega de una vez.',
  'The request goes back further than the documents that the tax authority delivers.':
    'La solicitud pide fechas anteriores a las que el SAT entrega.',
  'The service asks again later.': 'Se pregunta otra vez más tarde.',
  'The service asks for each half of the period.': 'Se piden las dos mitades del periodo.',
  'The service asks anew.': 'El servicio lo pide de nuevo.',
  'The service asks for another one.': 'El servicio pide otro.',
  'The service divides its period.': 'El servicio divide el periodo.',
  'The service failed.': 'El servicio falló.',
  'The service opens another one.': 'El servicio abre otra.',
  'The session with the tax authority has ended.': 'La sesión con el SAT terminó.',
  'The tax authority accepted the request.': 'El SAT aceptó la solicitud.',
  'The tax authority announces documents whose XML is not held.': 'El SAT anuncia documentos cuyo XML no se tiene.',
  'The response of the tax authority is not a valid answer.': 'El SAT contestó algo que no es una respuesta.',
  'The tax authority answered with a fault.': 'El SAT contestó con una falla.',
  'The tax authority answered with a page.': 'El SAT contestó con una página.',
  'The tax authority could not be reached.': 'No se pudo llegar al SAT.',
  'The tax authority delivers no XML of cancelled received documents.': 'El SAT no entrega el XML de los recibidos cancelados.',
  'The tax authority delivers no more single documents today.': 'El SAT ya no entrega hoy documentos sueltos.',
  'The tax authority did not answer in time.': 'El SAT no contestó a tiempo.',
  'The tax authority did not let the service log in.': 'El SAT no dejó entrar al servicio.',
  'The tax authority does not accept exactly this period again.': 'El SAT no acepta otra vez exactamente este periodo.',
  'The tax authority does not accept the request again.': 'El SAT no acepta otra vez la solicitud.',
  'The tax authority does not deliver the package again.': 'El SAT no entrega otra vez el paquete.',
  'The tax authority does not let this taxpayer ask for the documents.': 'El SAT no permite a este contribuyente pedir los documentos.',
  'The tax authority failed.': 'El SAT falló.',
  'The tax authority finds a fault in the request.': 'El SAT encuentra un error en la solicitud.',
  'The tax authority gave an answer that the service does not know.': 'El SAT dio una respuesta que el servicio no conoce.',
  'The tax authority has accepted the request for the list of documents, and has not begun it.':
    'El SAT aceptó la solicitud de la lista de documentos y aún no la empieza.',
  'The tax authority is still making the list of documents.': 'El SAT aún hace la lista de documentos.',
  'Their XML is asked for without it.': 'Sus XML se piden sin ella.',
  'The tax authority has deleted the package.': 'El SAT borró el paquete.',
  'The tax authority has deleted the request.': 'El SAT borró la solicitud.',
  'The tax authority has no documents for the request.': 'El SAT no tiene documentos para la solicitud.',
  'The tax authority is not done with the request yet.': 'El SAT aún no termina la solicitud.',
  'The tax authority is still busy with an equal request.': 'El SAT sigue ocupado con una solicitud igual.',
  'The tax authority refuses the credential.': 'El SAT rechaza el acceso.',
  'The tax authority refuses the e.firma: its certificate is revoked, has expired, or is no e.firma.':
    'El SAT rechaza la e.firma: su certificado está revocado, venció o no es de e.firma.',
  'The tax authority refuses the signature of the request.': 'El SAT rechaza la firma de la solicitud.',
  'The tax authority says that it has no documents for a period in which it had some.':
    'El SAT dice que no tiene documentos de un periodo en el que sí los tenía.',
  'The tax authority sent a package that is too large.': 'El SAT envió más que lo que admite un paquete.',
  'The tax authority takes no more requests for now.': 'El SAT no admite más solicitudes por ahora.',
  'The tax authority was not available, or did not deliver what it was asked for.':
    'El SAT no estuvo disponible, o no entregó lo que se le pidió.',
}

const HTTP = /^The tax authority answered with the HTTP status (\d{3})\.$/

/** A `last_code` of the API in Spanish, with its code; as the API says it where a sentence is not known. */
export function answerInSpanish(last_code: string): string {
  const [, code, text] = /^([\w-]+): (.+)$/.exec(last_code) ?? []
  if (code === undefined || text === undefined) return last_code
  const said = text.split(/(?<=\.) /).map((one) => {
    const [, status] = HTTP.exec(one) ?? []
    return status ? `El SAT contestó con el estado HTTP ${status}.` : ANSWERS[one]
  })
  return said.includes(undefined) ? last_code : `${said.join(' ')} (${code})`
}

type Warned = Pick<FiscalEntity, 'status' | 'efirma'>

/** What is to be known about a connection, in Spanish, by the code of its warning. */
export const WARNINGS: Record<string, (entity: Warned) => string> = {
  'rfc.check_digit': () =>
    'El último carácter del RFC no es el que se esperaba. Algunos RFC verdaderos tienen otro, por eso se aceptó: revise que esté bien escrito.',
  'ciec.no_fetcher': ({ status, efirma }) =>
    `La CIEC está guardada y con ella no se descarga nada: a este servicio le falta el programa que entra al portal del SAT con una CIEC. ${
      status === 'active' && efirma ? 'Los CFDI se descargan con la e.firma: no hay nada que hacer.' : 'Agregue una e.firma válida.'
    }`,
  'ciec.not_verified': () => 'La CIEC espera su primera entrada al portal del SAT. Un borrador se activa cuando el SAT la acepta.',
  'ciec.missing': () => 'Con la e.firma solo se descargan los CFDI. Para las demás fuentes de datos, agregue una CIEC.',
}

import type { SandboxComprobante } from '../world/comprobante.ts'
import { base64Of, digitsOf } from '../world/seed.ts'
import { pacOf, stampedAt } from '../world/stamp.ts'
import { element } from './markup.ts'

const TFD = 'http://www.sat.gob.mx/TimbreFiscalDigital'

/** Returns the issuer's seal of a document. It has the size of a real one and certifies nothing. */
export const selloOf = ({ uuid }: SandboxComprobante): string => base64Of(`${uuid}|sello`, 256)

/** Returns the complement with which a provider stamped a document. */
export const stampXml = (document: SandboxComprobante): string =>
  element('tfd:TimbreFiscalDigital', {
    'xmlns:tfd': TFD,
    'xsi:schemaLocation': `${TFD} http://www.sat.gob.mx/sitio_internet/cfd/TimbreFiscalDigital/TimbreFiscalDigitalv11.xsd`,
    Version: '1.1',
    UUID: document.uuid,
    FechaTimbrado: stampedAt(document),
    RfcProvCertif: pacOf(document),
    SelloCFD: selloOf(document),
    NoCertificadoSAT: '00001000000509846663',
    SelloSAT: base64Of(`${document.uuid}|sat`, 256),
  })

const KEPT = 64
const certificates = new Map<string, { number: string; text: string }>()

export function certificateOf(rfc: string): { number: string; text: string } {
  const certificate = certificates.get(rfc) ?? { number: `0000100000${digitsOf(`${rfc}|csd`, 10)}`, text: base64Of(`${rfc}|csd`, 700) }
  certificates.delete(rfc)
  certificates.set(rfc, certificate)
  if (certificates.size > KEPT) certificates.delete(certificates.keys().next().value!)
  return certificate
}

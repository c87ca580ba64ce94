import { type Efirma, sign, signingKey } from '../efirma/efirma.ts'
import { escapedText } from './canonical.ts'

/** An e.firma that is ready to sign requests. */
export interface Signer {
  rfc: string
  /** The certificate, in base64 of DER. */
  certificate: string
  issuer: string
  serial: string
  /** RSASSA-PKCS1-v1_5 with SHA-1, in base64. */
  sign(text: string): Promise<string>
}

const utf8 = new TextEncoder()

export async function signerOf({ rfc, certificate, pkcs8 }: Efirma): Promise<Signer> {
  const key = await signingKey(pkcs8)
  return {
    rfc,
    certificate: certificate.der.toBase64(),
    issuer: certificate.issuer,
    serial: certificate.serial,
    sign: async (text) => (await sign(key, utf8.encode(text))).toBase64(),
  }
}

const XMLDSIG = 'http://www.w3.org/2000/09/xmldsig#'
const EXCLUSIVE = 'http://www.w3.org/2001/10/xml-exc-c14n#'

/**
 * How empty elements of SignedInfo are sent. It does not matter for the signature, but the examples of the operations differ, and some
 * answers 301 were blamed on it (sat.md 1.3).
 */
export type EmptyElements = 'closed' | 'short'

/**
 * Signs the canonical text of an element and returns the element Signature, by XML Signature (https://www.w3.org/TR/xmldsig-core1) with
 * exclusive canonicalization. `uri` refers to the element; `keyInfo` is the content of KeyInfo.
 */
export async function signatureOf(signer: Signer, canonical: string, uri: string, keyInfo: string, empty: EmptyElements): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-1', utf8.encode(canonical))).toBase64()
  const content = signedInfo(uri, digest)
  const value = await signer.sign(`<SignedInfo xmlns="${XMLDSIG}">${content}</SignedInfo>`)
  const sent =
    empty === 'closed' ? content : content.replace(/><\/(?:CanonicalizationMethod|SignatureMethod|Transform|DigestMethod)>/g, '/>')
  return (
    `<Signature xmlns="${XMLDSIG}"><SignedInfo>${sent}</SignedInfo><SignatureValue>${value}</SignatureValue>` +
    `<KeyInfo>${keyInfo}</KeyInfo></Signature>`
  )
}

const signedInfo = (uri: string, digest: string): string =>
  `<CanonicalizationMethod Algorithm="${EXCLUSIVE}"></CanonicalizationMethod>` +
  `<SignatureMethod Algorithm="${XMLDSIG}rsa-sha1"></SignatureMethod>` +
  `<Reference URI="${uri}"><Transforms><Transform Algorithm="${EXCLUSIVE}"></Transform></Transforms>` +
  `<DigestMethod Algorithm="${XMLDSIG}sha1"></DigestMethod><DigestValue>${digest}</DigestValue></Reference>`

/** The content of KeyInfo that names and contains the certificate. */
export const certificateInfo = ({ issuer, serial, certificate }: Signer): string =>
  `<X509Data><X509IssuerSerial><X509IssuerName>${escapedText(issuer)}</X509IssuerName><X509SerialNumber>${serial}</X509SerialNumber>` +
  `</X509IssuerSerial><X509Certificate>${certificate}</X509Certificate></X509Data>`

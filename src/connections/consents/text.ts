import { DATA_SOURCE_KEYS, type DataSourceKey } from '../../authority/port/authority.ts'
import type { AskedPurpose, ConsentText, Controller, PageLanguage } from '../tables.ts'

type Words = Readonly<Record<PageLanguage, string>>

/** What an organization may ask for access for. A purpose that is not here is not understood by whoever reads the page. */
export const PURPOSES = {
  credit_evaluation: { es: 'Evaluar una solicitud de crédito o de arrendamiento.', en: 'Evaluate an application for credit or leasing.' },
  portfolio_monitoring: {
    es: 'Dar seguimiento a un crédito o arrendamiento mientras esté vigente.',
    en: 'Follow up a credit or lease while it lasts.',
  },
  factoring: { es: 'Revisar facturas que se ceden o financian.', en: 'Review invoices that are assigned or financed.' },
  insurance: { es: 'Evaluar o administrar un seguro o una fianza.', en: 'Evaluate or manage an insurance or a bond.' },
  accounting: { es: 'Llevar la contabilidad y conciliar facturas.', en: 'Keep the books and reconcile invoices.' },
  tax_compliance: {
    es: 'Preparar declaraciones y revisar el cumplimiento fiscal.',
    en: 'Prepare tax returns and review tax compliance.',
  },
  supplier_verification: { es: 'Verificar a un proveedor o cliente.', en: 'Verify a supplier or customer.' },
  audit: { es: 'Realizar una auditoría.', en: 'Carry out an audit.' },
  identity_verification: {
    es: 'Comprobar la identidad y la situación fiscal.',
    en: 'Verify the identity and the tax status.',
  },
  statistics: { es: 'Elaborar estadísticas y mejorar modelos de riesgo.', en: 'Produce statistics and improve risk models.' },
  marketing: { es: 'Ofrecer otros productos y servicios.', en: 'Offer other products and services.' },
} as const satisfies Record<string, Words>

export const PURPOSE_KEYS = Object.keys(PURPOSES) as (keyof typeof PURPOSES)[]

const SOURCE_NAMES: Readonly<Record<DataSourceKey, Words>> = {
  sat_cfdi_issued: { es: 'Facturas (CFDI) emitidas', en: 'Invoices (CFDI) issued' },
  sat_cfdi_received: { es: 'Facturas (CFDI) recibidas', en: 'Invoices (CFDI) received' },
  sat_csf: { es: 'Constancia de situación fiscal', en: 'Tax status certificate' },
  sat_opinion_32d: { es: 'Opinión de cumplimiento (32-D)', en: 'Tax compliance opinion (32-D)' },
  sat_obligations: { es: 'Obligaciones fiscales', en: 'Tax obligations' },
  sat_declaracion_anual: { es: 'Declaraciones anuales', en: 'Annual tax returns' },
  sat_declaracion_mensual: { es: 'Declaraciones mensuales', en: 'Monthly tax returns' },
  sat_miinformacion: {
    es: 'Datos de inscripción, y la lista de avisos del buzón tributario sin abrirlos',
    en: 'Registration data, and the list of notices in the tax mailbox, which are not opened',
  },
  sat_certificates: { es: 'Certificados de e.firma y de sello', en: 'Certificates of e.firma and seal' },
  sat_rug: { es: 'Registro Único de Garantías', en: 'Registry of movable collateral' },
}

export const sourceNames = (sources: readonly DataSourceKey[], language: PageLanguage): string[] =>
  DATA_SOURCE_KEYS.filter((key) => sources.includes(key)).map((key) => SOURCE_NAMES[key][language])

export const purposeName = (key: string, language: PageLanguage): string => PURPOSES[key as keyof typeof PURPOSES][language]

/** What the text of a consent depends on. */
export interface AskedConsent {
  controller: Controller
  /** Null when the taxpayer writes it beside the text. */
  rfc: string | null
  purposes: readonly AskedPurpose[]
  sources: readonly DataSourceKey[]
  access_from: string | null
  access_until: string | null
}

/** Changes with every change of the words below. */
const VERSION = '2026-11-30'

const LINES: Readonly<Record<PageLanguage, (asked: AskedConsent, list: (necessary: boolean) => string[]) => (string | false)[]>> = {
  es: ({ controller: { name, privacy_notice_url }, rfc, sources, access_from, access_until }, list) => [
    `Autorizo a ${name} (el responsable) a obtener del SAT, por medio de este servicio, información fiscal del RFC ${rfc ?? 'que escribo en esta página'}.`,
    `Información: ${sourceNames(sources, 'es').join('; ')}.`,
    `Periodo: ${access_from === null ? 'desde el inicio de lo que el SAT conserva' : `desde el ${access_from}`}, con descargas ${access_until === null ? 'hasta que retire este consentimiento' : `hasta el ${access_until}`}.`,
    `Finalidades necesarias: ${list(true).join(' ')}`,
    list(false).length > 0 && `Finalidades voluntarias, que acepto solo si las marco: ${list(false).join(' ')}`,
    'Mi contraseña o e.firma la recibe este servicio y no el responsable. Se guarda cifrada y se borra cuando retiro el consentimiento o termina el periodo. Las descargas no presentan declaraciones, no emiten ni cancelan facturas y no abren notificaciones del buzón tributario.',
    'Esta información es patrimonial y financiera: la entrego de manera expresa. Puedo retirar el consentimiento en cualquier momento, con el código del comprobante o pidiéndolo al responsable. Retirarlo no borra lo que se descargó antes; para eso puedo ejercer ante el responsable mis derechos de acceso, rectificación, cancelación y oposición.',
    privacy_notice_url !== null && `Aviso de privacidad del responsable: ${privacy_notice_url}`,
  ],
  en: ({ controller: { name, privacy_notice_url }, rfc, sources, access_from, access_until }, list) => [
    `I authorize ${name} (the controller) to obtain from the SAT, by means of this service, tax information of the RFC ${rfc ?? 'that I write on this page'}.`,
    `Information: ${sourceNames(sources, 'en').join('; ')}.`,
    `Period: ${access_from === null ? 'from the beginning of what the SAT keeps' : `from ${access_from}`}, with downloads ${access_until === null ? 'until I withdraw this consent' : `until ${access_until}`}.`,
    `Necessary purposes: ${list(true).join(' ')}`,
    list(false).length > 0 && `Voluntary purposes, which I accept only if I tick them: ${list(false).join(' ')}`,
    'My password or e.firma is received by this service and not by the controller. It is stored encrypted, and erased when I withdraw the consent or the period ends. The downloads file no tax returns, issue and cancel no invoices, and open no notices of the tax mailbox.',
    'This information is financial and about my assets: I give it expressly. I can withdraw the consent at any time, with the code of the receipt or by asking the controller. Withdrawing does not erase what was downloaded before; for that I can exercise my rights of access, rectification, cancellation and objection before the controller.',
    privacy_notice_url !== null && `Privacy notice of the controller: ${privacy_notice_url}`,
  ],
}

const utf8 = new TextEncoder()

/** The text that a taxpayer agrees to, and its SHA-256. The same input always gives the same text. */
export async function consentText(asked: AskedConsent, language: PageLanguage): Promise<ConsentText> {
  const list = (necessary: boolean): string[] =>
    asked.purposes.filter((purpose) => purpose.necessary === necessary).map(({ key }) => purposeName(key, language))
  const content = LINES[language](asked, list)
    .filter((line) => line !== false)
    .join('\n')
  const sha256 = new Uint8Array(await crypto.subtle.digest('SHA-256', utf8.encode(content))).toHex()
  return { version: VERSION, language, sha256, content }
}

/** What an e.firma signs: the record, the SHA-256 of its text, and the purposes that were accepted. */
export const signedMessage = (consent_id: string, sha256: string, granted: readonly string[]): string =>
  [consent_id, sha256, granted.join(',')].join('\n')

/** Whether a certificate's key has signed a message, by RSA (PKCS #1 v1.5) with SHA-256. */
export async function isSignedBy(publicKey: Uint8Array, signature: string, message: string): Promise<boolean> {
  const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }
  try {
    const key = await crypto.subtle.importKey('spki', publicKey, algorithm, false, ['verify'])
    return await crypto.subtle.verify(algorithm.name, key, Uint8Array.fromBase64(signature), utf8.encode(message))
  } catch {
    return false
  }
}

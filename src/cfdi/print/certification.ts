import { expressionOf, retencionesExpressionOf } from '../../authority/port/expression.ts'
import type { XmlElement } from '../xml/tree.ts'

type Attributes = ReadonlyMap<string, readonly [name: string, value: string]>

/** The members of the stamp in the order in which SAT signs them. Source: Anexo 20, "Estándar del complemento Timbre Fiscal Digital". */
const SIGNED = ['version', 'uuid', 'fechatimbrado', 'rfcprovcertif', 'leyenda', 'sellocfd', 'nocertificadosat']

/** The cadena original of a stamp of version 1.0 or 1.1; null without a stamp. */
export function cadenaOf(stamp: Attributes): string | null {
  if (stamp.size === 0) return null
  const members = SIGNED.map((name) => stamp.get(name)?.[1].trim().replace(/\s+/g, ' ')).filter(Boolean)
  return `||${members.join('|')}||`
}

const attribute = (node: XmlElement | undefined, ...names: string[]): string => {
  for (const [name, value] of Object.entries(node?.attributes ?? {})) if (names.includes(name.toLowerCase())) return value.trim()
  return ''
}

const childOf = (node: XmlElement | undefined, name: string): XmlElement | undefined => node?.children.find((one) => one.name === name)

/** What the QR code of a document says. Null for what cannot be verified: a document without a stamp, or with a total below zero. */
export function verificationOf(root: XmlElement, uuid: string): string | null {
  if (uuid === '') return null
  const [emisor, receptor] = [childOf(root, 'Emisor'), childOf(root, 'Receptor')]
  const version = attribute(root, 'version')
  const sello_ultimos_8 = attribute(root, 'sello').slice(-8)
  try {
    if (root.name === 'Retenciones') {
      const [abroad, national] = [childOf(receptor, 'Extranjero'), childOf(receptor, 'Nacional')]
      return retencionesExpressionOf({
        ...{ version, uuid, sello_ultimos_8, emisor_rfc: attribute(emisor, 'rfce', 'rfcemisor') },
        receptor: abroad
          ? { num_reg_id_trib: attribute(abroad, 'numregidtrib', 'numregidtribr') }
          : { rfc: attribute(national, 'rfcr', 'rfcrecep') },
        total: attribute(childOf(root, 'Totales'), 'montototoperacion', 'montotot'),
      })
    }
    const [emisor_rfc, receptor_rfc] = [attribute(emisor, 'rfc'), attribute(receptor, 'rfc')]
    return expressionOf({ version, uuid, emisor_rfc, receptor_rfc, total: attribute(root, 'total'), sello_ultimos_8 })
  } catch (error) {
    if (error instanceof TypeError) return null
    throw error
  }
}

const PAGE_OF_CARTA_PORTE = 'https://verificacfdi.facturaelectronica.sat.gob.mx/verificaccp/default.aspx'

/** What the QR code of a Carta Porte says, which has one from version 3.0 on; null for any other complement. */
export function cartaPorteAddress(complement: XmlElement, certified: string | null): string | null {
  const id = attribute(complement, 'idccp')
  if (complement.name !== 'CartaPorte' || id === '') return null
  const places = childOf(complement, 'Ubicaciones')?.children ?? []
  const origin = places.find((place) => attribute(place, 'tipoubicacion') === 'Origen')
  return `${PAGE_OF_CARTA_PORTE}?IdCCP=${id}&FechaOrig=${attribute(origin, 'fechahorasalidallegada')}&FechaTimb=${certified ?? ''}`
}

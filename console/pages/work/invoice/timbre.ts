/** What the certification of a CFDI says beyond what the API does. It is printed on every representation of it. */
export interface Timbre {
  no_certificado_sat: string
  sello_cfd: string
  sello_sat: string
  /** What the authority's seal signs: the members of the timbre in their order. */
  cadena: string
}

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }
const plain = (text: string): string =>
  text.replace(/&(?:#x([\da-f]+)|#(\d+)|(\w+));/gi, (whole, hex, digits, name) =>
    hex || digits ? String.fromCodePoint(hex ? Number.parseInt(hex, 16) : Number(digits)) : (ENTITIES[name] ?? whole),
  )

/**
 * The timbre of a document in its XML, of version 1.0 or 1.1; null where there is none of this UUID. The policy of the page forbids the browser's own
 * parser, and of one element without content the text is enough. Source: Anexo 20, "Estándar del complemento Timbre Fiscal Digital".
 */
export function timbreOf(xml: string, uuid: string): Timbre | null {
  for (const [tag] of xml.matchAll(/<(?:[\w.-]+:)?TimbreFiscalDigital\s(?:[^>"']|"[^"]*"|'[^']*')*>/g)) {
    const said: Record<string, string> = {}
    for (const [, name, one, other] of tag.matchAll(/([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g))
      said[name!.toLowerCase()] = plain(one ?? other ?? '').trim()
    const { nocertificadosat, sellocfd, sellosat } = said
    if (said['uuid']?.toUpperCase() !== uuid.toUpperCase() || !nocertificadosat || !sellocfd || !sellosat) continue
    const order = ['version', 'uuid', 'fechatimbrado', 'rfcprovcertif', 'leyenda', 'sellocfd', 'nocertificadosat']
    const members = order.map((name) => said[name]).filter(Boolean)
    return { no_certificado_sat: nocertificadosat, sello_cfd: sellocfd, sello_sat: sellosat, cadena: `||${members.join('|')}||` }
  }
  return null
}

import { amount, asRfc, dateTime, text, upper, uuid, versionOf } from './fields.ts'
import { nomina11, nomina12 } from './nomina.ts'
import { pagos10, pagos20 } from './pagos.ts'
import { children, type Node, path } from './parse-state.ts'

/** The namespaces of the complements that are read, each with the alias that the grammar uses for it. Source: sat.md 3.1. */
export const COMPLEMENT_NAMESPACES: ReadonlyMap<string, string> = new Map([
  ['http://www.sat.gob.mx/TimbreFiscalDigital', 'tfd'],
  ['http://www.sat.gob.mx/Pagos', 'pago10'],
  ['http://www.sat.gob.mx/Pagos20', 'pago20'],
  ['http://www.sat.gob.mx/nomina', 'nomina11'],
  ['http://www.sat.gob.mx/nomina12', 'nomina12'],
  ['http://www.sat.gob.mx/implocal', 'implocal'],
  ['http://www.sat.gob.mx/iedu', 'iedu'],
])

const timbre: Node = {
  open: (state, a) => {
    state.timbres++
    if (state.timbres > 1) return
    state.document.uuid = uuid(a, 'UUID')
    state.document.certified_at = dateTime(a, 'FechaTimbrado')
    state.document.pac_rfc = asRfc(a['RfcProvCertif'] ?? '') || null
  },
}

const impuestosLocales: Node = {
  open: ({ document }) => {
    document.impuestos_locales ??= { traslados: [], retenciones: [] }
  },
  children: children({
    TrasladosLocales: {
      open: ({ document }, a) => {
        document.impuestos_locales?.traslados.push({
          nombre: text(a, 'ImpLocTrasladado') ?? '',
          tasa: amount(a, 'TasadeTraslado'),
          importe: amount(a, 'Importe') ?? '',
        })
      },
    },
    RetencionesLocales: {
      open: ({ document }, a) => {
        document.impuestos_locales?.retenciones.push({
          nombre: text(a, 'ImpLocRetenido') ?? '',
          tasa: amount(a, 'TasadeRetencion'),
          importe: amount(a, 'Importe') ?? '',
        })
      },
    },
  }),
}

const prefixed = (alias: string, node: Node): Node =>
  node.children === undefined
    ? node
    : { ...node, children: new Map([...node.children].map(([name, child]) => [`${alias}:${name}`, prefixed(alias, child)])) }

const listed = (node: Node, versions?: readonly string[]): Node => ({
  ...node,
  open: (state, a, name) => {
    const version = versionOf(a)
    state.complementos.add(`${name}:${version}`)
    if (versions?.includes(version) === false) state.oddities.add('unknown_version')
    node.open?.(state, a, name)
  },
})

/**
 * A top-level Complemento; a document may have several. Every child is listed in `complementos`. The known ones are read, and those of
 * another version like them.
 */
export const complemento: Node = {
  children: new Map(
    (
      [
        ['tfd', 'TimbreFiscalDigital', timbre, '1.0', '1.1'],
        ['implocal', 'ImpuestosLocales', impuestosLocales, '1.0'],
        ['pago10', 'Pagos', pagos10, '1.0'],
        ['pago20', 'Pagos', pagos20, '2.0'],
        ['nomina11', 'Nomina', nomina11, '1.1'],
        ['nomina12', 'Nomina', nomina12, '1.2'],
      ] as const
    ).map(([alias, name, node, ...versions]) => [`${alias}:${name}`, listed(prefixed(alias, node), versions)]),
  ),
  // Other versions may have another namespace.
  other: listed({ open: ({ oddities }, _, name) => void (/^(?:Pagos|Nomina)$/.test(name) && oddities.add('unknown_version')) }),
}

/** The ComplementoConcepto of a line. The complement of schools is read. */
export const complementoConcepto: Node = path({
  'iedu:instEducativas': {
    open: ({ concepto }, a) => {
      if (concepto === null) return
      concepto.iedu = {
        ...{ nombre_alumno: text(a, 'nombreAlumno'), curp: upper(a, 'CURP'), nivel_educativo: text(a, 'nivelEducativo') },
        ...{ aut_rvoe: text(a, 'autRVOE'), rfc_pago: asRfc(a['rfcPago'] ?? '') || null },
      }
    },
  },
})

import type { KnownDetail } from '../chunks/content.ts'
import { text } from '../xml/document.ts'
import type { XmlElement, XmlTree } from '../xml/tree.ts'
import { nominasOf, payrollOf } from './payroll.ts'

/** What is known of a document with everything that its XML states; without one, what only it states is null or an empty list. */
export function statedBy(content: KnownDetail, tree: XmlTree | null) {
  const { xml = null, complement_trees = [], left_out = null } = tree ?? {}
  const nominas = nominasOf(complement_trees)
  return {
    ...content,
    conceptos: content.conceptos.map((line, n) => {
      const { complement_trees = [], other_elements = [] } = tree?.lines.get(n) ?? {}
      const thirdParty = other_elements.find(isThirdParty)
      return {
        ...line,
        a_cuenta_terceros: thirdParty ? thirdPartyOf(thirdParty) : null,
        ...{ complement_trees, other_elements: other_elements.filter((one) => !isThirdParty(one)) },
      }
    }),
    nominas: content.nominas.map((one, n) => ({ ...one, ...payrollOf(nominas[n]) })),
    ...{ complement_trees, xml, xml_left_out: left_out },
  }
}

const isThirdParty = ({ name, namespace }: XmlElement): boolean => name === 'ACuentaTerceros' && namespace === null

const thirdPartyOf = ({ attributes }: XmlElement) => ({
  rfc: text(attributes, 'RfcACuentaTerceros'),
  nombre: text(attributes, 'NombreACuentaTerceros'),
  regimen_fiscal: text(attributes, 'RegimenFiscalACuentaTerceros'),
  domicilio_fiscal: text(attributes, 'DomicilioFiscalACuentaTerceros'),
})

/** XML as Canonical XML writes it (https://www.w3.org/TR/xml-c14n), so that what is signed and what is sent are the same text. */

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\t': '&#x9;',
  '\n': '&#xA;',
  '\r': '&#xD;',
}

export const escapedText = (text: string): string => text.replace(/[&<>\r]/g, (one) => ESCAPES[one]!)
const escapedValue = (text: string): string => text.replace(/[&<"\t\n\r]/g, (one) => ESCAPES[one]!)

/** Attributes in the order of their names, each after a space. Those without a value are left out. */
export const attributes = (all: Readonly<Record<string, string | undefined>>): string =>
  Object.entries(all)
    .filter(([, value]) => value)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, value]) => ` ${name}="${escapedValue(value!)}"`)
    .join('')

/** Kinds of company as they end a name, without punctuation. CFDI 4.0 omits them; the registry includes them. */
const KINDS_OF_COMPANY = [
  'SOCIEDAD ANONIMA DE CAPITAL VARIABLE',
  'SOCIEDAD ANONIMA',
  'SOCIEDAD CIVIL',
  'ASOCIACION CIVIL',
  'S DE R L DE C V',
  'S DE RL DE CV',
  'S DE R L',
  'S DE RL',
  'S A P I DE C V',
  'SAPI DE CV',
  'S A B DE C V',
  'SAB DE CV',
  'S A S DE C V',
  'SAS DE CV',
  'S A DE C V',
  'SA DE CV',
  'S A S',
  'SAS',
  'S A',
  'SA',
  'S C DE R L DE C V',
  'S C DE R L',
  'S C P',
  'S C',
  'SC',
  'A C',
  'AC',
].sort((a, b) => b.length - a.length)

/** Normalizes a name for comparison: letters, digits and `&` in upper case, without accents, punctuation or the kind of company. */
export function normalName(name: string): string {
  const plain = name
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .toUpperCase()
    .replace(/[^\p{L}\d&]+/gu, ' ')
    .replace(/ ?& ?/g, '&')
    .trim()
  const kind = KINDS_OF_COMPANY.find((one) => plain.endsWith(` ${one}`))
  return kind === undefined ? plain : plain.slice(0, -kind.length).trim()
}

import { CODES as words } from '../../src/cfdi/codes.ts'
import { useWords } from '../language.ts'

export type Catalog = keyof typeof words.es

/** What codes of CFDIs are called. */
export function useCodes() {
  const t = useWords(words)
  const namesOf = (catalog: Catalog): Record<string, string> => t[catalog]
  /** The code with its name; the code alone when it has none. */
  const said = (catalog: Catalog, code: string): string => [code, namesOf(catalog)[code]].filter(Boolean).join(' – ')
  return { namesOf, said, isCatalog: (name: string): name is Catalog => name in t }
}

import { useWords } from '../../../language.ts'
import Entries from '../figures/entries.tsx'
import { figureNames, words } from '../vat/words.ts'

export default function VatEntries() {
  const t = useWords(words)
  return <Entries names={figureNames(t)} isExplained />
}

import { useWords } from '../../../language.ts'
import Entries from '../figures/entries.tsx'
import { words } from '../withholdings/words.ts'

export default function WithholdingEntries() {
  const t = useWords(words)
  return <Entries names={{ ...t.figure, ...t.others }} isExplained />
}

import { useWords } from '../../../language.ts'
import Entries from '../../insight/figures/entries.tsx'
import { figureNames, words } from '../financing/words.ts'

export default function FinancingEntries() {
  const t = useWords(words)
  return <Entries names={figureNames(t)} isExplained />
}

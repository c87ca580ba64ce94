import { useWords } from '../../../language.ts'
import { words } from '../deductions/words.ts'
import Entries from '../figures/entries.tsx'

export default function DeductionEntries() {
  const t = useWords(words)
  return (
    <Entries
      names={{ ...t.figure, ...t.others }}
      about={({ category, year }) => [category && (t.categories[category] ?? category), year]}
      isExplained
    />
  )
}

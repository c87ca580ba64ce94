import { useWords } from '../../../language.ts'
import Entries from '../figures/entries.tsx'
import { givenFor } from '../isr/inputs.tsx'
import { words } from '../isr/words.ts'

export default function IsrEntries() {
  const t = useWords(words)
  return <Entries names={t.lines} about={({ regimen }) => [regimen]} backTo={givenFor} isExplained />
}

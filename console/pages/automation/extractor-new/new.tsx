import { useWords } from '../../../language.ts'
import { Title } from '../../../parts/page.tsx'
import { Editor } from '../extractor/editor.tsx'
import { words } from '../extractor/words.ts'

export default function NewExtractor() {
  const t = useWords(words)
  return (
    <>
      <Title text={t.create} lead={t.createLead} />
      <Editor />
    </>
  )
}

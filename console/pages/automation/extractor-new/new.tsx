import { useWords } from '../../../language.ts'
import { Call, Title } from '../../../parts/page.tsx'
import { Room } from '../../../room/room.tsx'
import { Editor } from '../extractor/editor.tsx'
import { words } from '../extractor/words.ts'

export default function NewExtractor() {
  const t = useWords(words)
  return (
    <>
      <Title text={t.create} lead={t.createLead} />
      <Room of="extractors" />
      <Editor />
      <Call call="POST /v1/extractors" />
    </>
  )
}

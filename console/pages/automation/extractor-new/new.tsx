import { useSearchParams } from 'wouter-preact'
import { useWords } from '../../../language.ts'
import { Call, Title } from '../../../parts/page.tsx'
import { Room } from '../../../room/room.tsx'
import { SCOPES } from '../extractor/draft.ts'
import { Editor } from '../extractor/editor.tsx'
import { words } from '../extractor/words.ts'

/** What the address asks for is chosen already: `?scope=full_history` shows what a wider reach would download. */
export default function NewExtractor() {
  const t = useWords(words)
  const [params] = useSearchParams()
  const scope = SCOPES.find((one) => one === params.get('scope'))
  return (
    <>
      <Title text={t.create} lead={t.createLead} />
      <Room of="extractors" />
      <Editor chosen={scope && { scope }} />
      <Call call="POST /v1/extractors" />
    </>
  )
}

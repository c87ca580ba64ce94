import { useQuery } from '@tanstack/preact-query'
import { useState } from 'preact/hooks'
import { useWords } from '../../../language.ts'
import { Copy } from '../../../parts/copy.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import { Panel } from '../../../parts/page.tsx'
import { Switch } from '../../../parts/switch.tsx'
import css from '../parts/automation.module.css'
import { Text } from '../parts/text.tsx'
import { words } from './words.ts'

const LANGUAGES = [
  ['js', 'Node'],
  ['python', 'Python'],
  ['php', 'PHP'],
] as const
type Mark = (typeof LANGUAGES)[number][0]

/** The code of the documentation, which tests run in each language: there is no other copy of it. */
const snippets = async (): Promise<Record<Mark, string>> => {
  const { default: text } = await import('../../../../docs/webhooks.md?raw')
  const [, section = ''] = /^## Verifying a signature$(.*?)^## /ms.exec(text) ?? []
  const codeOf = (mark: Mark): string => new RegExp(`^\`\`\`${mark}$\\n(.*?)^\`\`\`$`, 'ms').exec(section)?.[1] ?? ''
  return { js: codeOf('js'), python: codeOf('python'), php: codeOf('php') }
}

/** How a receiver checks that a delivery is the service's. */
export function Code() {
  const t = useWords(words)
  const [mark, choose] = useState<Mark>('js')
  const codes = useQuery({ queryKey: ['snippets'], queryFn: snippets, staleTime: Number.POSITIVE_INFINITY })
  return (
    <Panel title={t.code} lead={t.codeLead} actions={<Switch label={t.language} value={mark} choices={LANGUAGES} choose={choose} />}>
      <Loaded query={codes} rows={2}>
        {(all) => (
          <div class={css.stack}>
            <Text label={t.code} text={all[mark]} />
            <div>
              <Copy text={all[mark]} />
            </div>
          </div>
        )}
      </Loaded>
    </Panel>
  )
}

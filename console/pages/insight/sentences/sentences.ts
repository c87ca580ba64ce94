import { useContext, useEffect, useState } from 'preact/hooks'
import { type Language, LanguageContext } from '../../../language.ts'

type Spanish = Record<string, string>

let known: Spanish | null = null

/** Says a sentence of the API, which speaks English, in the language of the page. One without a translation is said as it is. */
export function useSentence(): (text: string) => string {
  const isSpanish = useContext(LanguageContext) === 'es'
  const [sentences, arrived] = useState(known)
  useEffect(() => {
    if (!isSpanish || sentences !== null) return
    let isShown = true
    import('./spanish.ts').then(
      ({ SPANISH }) => {
        known = SPANISH
        if (isShown) arrived(SPANISH)
      },
      () => {},
    )
    return () => {
      isShown = false
    }
  }, [isSpanish, sentences])
  return (text) => (isSpanish && sentences?.[text]) || text
}

type Rules = typeof import('./rules.ts')

let rules: Rules | null = null

/** How rules and their values are said; undefined until that is there. */
export function useRules(): ReturnType<Rules['sayingRules']> | undefined {
  const spoken: Language = useContext(LanguageContext)
  const [there, arrived] = useState(rules)
  useEffect(() => {
    if (there !== null) return
    let isShown = true
    import('./rules.ts').then(
      (loaded) => {
        rules = loaded
        if (isShown) arrived(loaded)
      },
      () => {},
    )
    return () => {
      isShown = false
    }
  }, [there])
  return there?.sayingRules(spoken)
}

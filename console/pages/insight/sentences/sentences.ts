import { useContext, useEffect, useState } from 'preact/hooks'
import { LanguageContext } from '../../../language.ts'

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

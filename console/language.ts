import { createContext } from 'preact'
import { useContext } from 'preact/hooks'

export type Language = 'es' | 'en'

/** What a page says, in both languages: `en` has the type of `es`. What varies is a function. */
export interface Words<T> {
  es: T
  en: T
}

export const LOCALES = { es: 'es-MX', en: 'en-US' } as const

const KEPT = 'language'
const first = (): Language => {
  const kept = localStorage.getItem(KEPT)
  if (kept === 'es' || kept === 'en') return kept
  return navigator.languages.some((one) => one.startsWith('es')) || !navigator.language.startsWith('en') ? 'es' : 'en'
}

let current: Language = first()

export const language = (): Language => current
export const locale = (): string => LOCALES[current]

/** Speaks this language from now on. The caller renders everything again. */
export function speak(chosen: Language): void {
  current = chosen
  localStorage.setItem(KEPT, chosen)
  document.documentElement.lang = LOCALES[chosen]
}

/** Its consumers are rendered again when the language changes. */
export const LanguageContext = createContext<Language>(current)

/** The words of a page or part, in the language that is spoken. */
export const useWords = <T>(words: Words<T>): T => words[useContext(LanguageContext)]

import { FileSearch } from 'lucide-preact'
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { useSearchParams } from 'wouter-preact'
import { Refused } from '../api/client.ts'
import { faultOf } from '../api/problems.ts'
import { useWords } from '../language.ts'
import { Button } from './button.tsx'
import css from './states.module.css'
import { words } from './words.ts'

/** What a filter of an address and its value are called. */
type Say = (name: string, value: string) => { label: string; value: string }

/** A page gives its own words to what is shown in it. Without any, a filter has the name that the API gives it. */
export const FilterWords = createContext<Say>((label, value) => ({ label, value }))

/** Refusals that name the parameter that they are about. */
const CODES = ['request.invalid', 'range.invalid', 'summary.range', 'as_of.future', 'blacklist.unknown']

/** The parameters of the address that a refusal names. */
export function useWrong(error: Error): string[] {
  const [params] = useSearchParams()
  if (!(error instanceof Refused) || !CODES.includes(error.problem?.code ?? '')) return []
  const names = (error.problem?.errors ?? []).map(({ path }) => path.split(/[.[]/, 1)[0]!)
  return [...new Set(names)].filter((name) => params.get(name))
}

/** Such a fault lists values of the API, which say nothing to whoever reads the page. */
const ONE_OF = 'Must be one of'

/** What of an address the API refused, each part by its name and with a way to take it out: the page may have no field that shows it. */
export function Wrong({ error, names, isPage }: { error: Error; names: readonly string[]; isPage: boolean }) {
  const t = useWords(words)
  const say = useContext(FilterWords)
  const [params, set] = useSearchParams()
  const remove = (name: string) =>
    set(
      (old) => {
        old.delete(name)
        return old
      },
      { replace: true },
    )
  return (
    <div class={css.empty} role="alert">
      <FileSearch size={34} aria-hidden="true" />
      {isPage ? <h1>{t.wrong}</h1> : <h2>{t.wrong}</h2>}
      <p>{t.wrongLead}</p>
      {names.map((name) => {
        const { label, value } = say(name, params.get(name) ?? '')
        const fault = faultOf(error, name)
        return (
          <p key={name} class={css.wrong}>
            {label}: <b>{value}</b>
            {fault && !fault.startsWith(ONE_OF) && <small>{fault}</small>}
            <Button small onClick={() => remove(name)}>
              {t.removeFilter(label)}
            </Button>
          </p>
        )
      })}
    </div>
  )
}

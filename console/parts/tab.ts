import { createContext } from 'preact'
import { useContext, useEffect } from 'preact/hooks'

/** What the page and the product are called. */
export const TabContext = createContext({ page: '', product: '' })

/** Names the tab: by the thing that a page shows, else by the page, and by what it is of. */
export function useTab(thing?: string, of?: string): void {
  const { page, product } = useContext(TabContext)
  useEffect(() => {
    document.title = [thing ?? page, of, product].filter(Boolean).join(' · ')
  }, [thing, page, of, product])
}

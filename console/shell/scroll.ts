/** How far down each address was read last, in this tab. */
const places = new Map<string, number>()
const address = (): string => location.pathname + location.search

/** A page that is read again grows for a while. */
const WITHIN_MS = 3_000
const BY_HAND = ['wheel', 'touchmove', 'keydown', 'pointerdown'] as const

/** Goes to where somebody was as soon as the page is long enough, unless they move first. */
function returnTo(top: number): void {
  const given = new AbortController()
  const give = () => given.abort()
  for (const name of BY_HAND) addEventListener(name, give, { signal: given.signal, passive: true })
  const end = performance.now() + WITHIN_MS
  const step = () => {
    if (given.signal.aborted) return
    scrollTo(0, top)
    if (scrollY < top - 1 && performance.now() < end) requestAnimationFrame(step)
    else give()
  }
  requestAnimationFrame(step)
}

/** A new page begins at its top; Back and Forward lead to where it was left. Returns what is called for each new page. */
export function rememberPlaces(): { onPage: () => void; end: () => void } {
  const ended = new AbortController()
  let returningTo: string | null = null
  history.scrollRestoration = 'manual'
  addEventListener('scroll', () => places.set(address(), scrollY), { signal: ended.signal, passive: true })
  const onPop = () => {
    returningTo = location.pathname
    returnTo(places.get(address()) ?? 0)
  }
  // Before the router draws the page.
  addEventListener('popstate', onPop, { signal: ended.signal, capture: true })
  return {
    onPage: () => {
      if (returningTo !== location.pathname) scrollTo(0, 0)
      returningTo = null
    },
    end: () => ended.abort(),
  }
}

import { Component, type ComponentChildren, type ComponentType } from 'preact'
import { lazy, Suspense } from 'preact/compat'
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { Route, Switch, useLocation } from 'wouter-preact'
import { useWords, type Words } from '../language.ts'
import { PAGES } from '../pages.ts'
import { Button } from '../parts/button.tsx'
import { Empty, Skeleton } from '../parts/states.tsx'
import { TabContext } from '../parts/tab.ts'
import { rememberPlaces } from './scroll.ts'
import css from './shell.module.css'
import { words } from './words.ts'

const ROUTES = PAGES.map((page) => ({ ...page, Page: lazy(page.load) as unknown as ComponentType<Record<string, string>> }))

function Titled({ name, children }: { name: Words<string>; children: ComponentChildren }) {
  const page = useWords(name)
  const { product } = useWords(words)
  const tab = useMemo(() => ({ page, product }), [page, product])
  // Before the page, which may name a thing.
  useLayoutEffect(() => {
    document.title = `${page} · ${product}`
  }, [page, product])
  return <TabContext.Provider value={tab}>{children}</TabContext.Provider>
}

function Missing() {
  const t = useWords(words)
  return <Empty isPage title={t.missing} lead={t.missingLead} action={{ label: t.home, href: '/' }} />
}

function Broken() {
  const t = useWords(words)
  return (
    <div role="alert">
      <Empty isPage title={t.broke} lead={t.brokeLead}>
        <Button onClick={() => location.reload()}>{t.reload}</Button>
      </Empty>
    </div>
  )
}

/** What a page throws while it is drawn is shown in its place: the rest of the console goes on. */
class Boundary extends Component<{ at: string; children: ComponentChildren }, { broken: string | null }> {
  override state: { broken: string | null } = { broken: null }
  override componentDidCatch(error: unknown) {
    console.error(error)
    this.setState({ broken: this.props.at })
  }
  override render() {
    return this.state.broken === this.props.at ? <Broken /> : this.props.children
  }
}

/** Keys that work on every page: `/` goes to its filter, the first search field there is. */
function onKey(event: KeyboardEvent): void {
  const { target } = event
  const isTyping = target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || isTyping) return
  const field = document.querySelector<HTMLElement>('main input[type=search], main [data-filter]')
  if (!field) return
  event.preventDefault()
  field.focus()
}

export function Pages() {
  const [path, go] = useLocation()
  const main = useRef<HTMLElement>(null)
  const previous = useRef(path)
  const places = useRef<ReturnType<typeof rememberPlaces> | null>(null)
  useEffect(() => {
    document.addEventListener('keydown', onKey)
    places.current = rememberPlaces()
    return () => {
      document.removeEventListener('keydown', onKey)
      places.current?.end()
    }
  }, [])
  useEffect(() => {
    if (previous.current === path) return
    previous.current = path
    // A new page is told to whoever cannot see it.
    main.current?.focus({ preventScroll: true })
    places.current?.onPage()
  }, [path])
  // Charts have links of SVG, and answers of the API paths: none of them loads the whole console again.
  const follow = (event: MouseEvent) => {
    const link = (event.target as Element).closest('a')
    const href = link?.getAttribute('href') ?? ''
    const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey
    if (!isPlain || event.defaultPrevented || link?.hasAttribute('download') || !href.startsWith('/console/')) return
    event.preventDefault()
    go(href.slice('/console'.length))
  }
  return (
    // A link that is followed by keyboard is clicked as well.
    <main id="main" class={css.main} tabIndex={-1} ref={main} onClick={follow}>
      <Boundary at={path}>
        <Suspense fallback={<Skeleton rows={6} />}>
          <Switch>
            {ROUTES.map(({ path: pattern, name, Page }) => (
              <Route key={pattern} path={pattern}>
                {(params: Record<string, string>) => (
                  <Titled name={name}>
                    <Page {...params} />
                  </Titled>
                )}
              </Route>
            ))}
            <Route>
              <Missing />
            </Route>
          </Switch>
        </Suspense>
      </Boundary>
    </main>
  )
}

import { useEffect, useRef } from 'preact/hooks'
import { type Endless, More } from '../../../parts/more.tsx'

/** Pages that are fetched one after the other without anybody asking. A rare filter finds little in each of them. */
const MOST_UNASKED = 8

/** Goes on with a list as its end comes into view. The button goes on where that stops. */
export function EndOfList({ list, pages, rows }: { list: Endless & { isFetchNextPageError: boolean }; pages: number; rows: number }) {
  const end = useRef<HTMLDivElement>(null)
  const last = useRef({ rows, pages })
  if (rows >= last.current.rows + 25) last.current = { rows, pages }
  const { hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage } = list
  const isOn = hasNextPage && !isFetchingNextPage && !isFetchNextPageError && pages - last.current.pages < MOST_UNASKED
  useEffect(() => {
    if (!isOn || !end.current) return
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && fetchNextPage(), { rootMargin: '300px' })
    observer.observe(end.current)
    return () => observer.disconnect()
  }, [isOn, pages, fetchNextPage])
  return (
    <div ref={end}>
      <More
        list={{
          ...list,
          fetchNextPage: () => {
            last.current = { rows, pages }
            return fetchNextPage()
          },
        }}
      />
    </div>
  )
}

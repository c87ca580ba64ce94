import { useWords } from '../language.ts'
import { Button } from './button.tsx'
import { words } from './words.ts'

/** A list of `useInfiniteQuery`. */
export interface Endless {
  hasNextPage: boolean
  isFetchingNextPage: boolean
  fetchNextPage: () => Promise<{ hasNextPage: boolean; error: Error | null }>
}

/** Under a list of `useInfiniteQuery`: loads the next page of it. */
export function More({ list }: { list: Endless }) {
  const t = useWords(words)
  if (!list.hasNextPage) return null
  return (
    <Button isBusy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
      {t.more}
    </Button>
  )
}

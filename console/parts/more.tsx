import { useWords } from '../language.ts'
import { Button } from './button.tsx'
import { words } from './words.ts'

interface Endless {
  hasNextPage: boolean
  isFetchingNextPage: boolean
  fetchNextPage: () => unknown
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

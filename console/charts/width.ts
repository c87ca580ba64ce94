import { useLayoutEffect, useRef, useState } from 'preact/hooks'

/** The width of an element, which a chart fills: `const [ref, width] = useWidth()`. Zero until it is known. */
export function useWidth() {
  const ref = useRef<HTMLDivElement>(null)
  const [width, set] = useState(0)
  useLayoutEffect(() => {
    const observer = new ResizeObserver(([entry]) => set(Math.floor(entry!.contentRect.width)))
    observer.observe(ref.current!)
    return () => observer.disconnect()
  }, [])
  return [ref, width] as const
}

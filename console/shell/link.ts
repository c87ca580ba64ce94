/** What follows `#link=` in the address. It is taken out at once, so that it stays in no history; null when there is none. */
export function takeLink(): string | null {
  const link = /^#link=(.*)$/.exec(location.hash)?.[1] ?? null
  if (link !== null) history.replaceState(null, '', location.pathname + location.search)
  return link
}

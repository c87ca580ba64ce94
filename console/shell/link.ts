/** What a link in a mail or from a script brings: a way in with a credential, one for a person, or the confirmation of an e-mail address. */
export interface Brought {
  kind: 'link' | 'enter' | 'confirm'
  text: string
}

/** What follows `#link=`, `#enter=` or `#confirm=` in the address. It is taken out at once, so that it stays in no history; null when there is none. */
export function takeLink(): Brought | null {
  const [, kind, text] = /^#(link|enter|confirm)=(.*)$/.exec(location.hash) ?? []
  if (kind === undefined || text === undefined) return null
  history.replaceState(null, '', location.pathname + location.search)
  return { kind: kind as Brought['kind'], text }
}

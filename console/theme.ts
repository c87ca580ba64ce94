const KEPT = 'theme'

/** Applies the theme that was chosen; without a choice the browser's own is followed. */
export function applyTheme(): void {
  const kept = localStorage.getItem(KEPT)
  if (kept === 'light' || kept === 'dark') document.documentElement.dataset['theme'] = kept
}

export function isDark(): boolean {
  const { dataset } = document.documentElement
  return dataset['theme'] ? dataset['theme'] === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches
}

export function turnTheme(): void {
  const chosen = isDark() ? 'light' : 'dark'
  document.documentElement.dataset['theme'] = chosen
  localStorage.setItem(KEPT, chosen)
}

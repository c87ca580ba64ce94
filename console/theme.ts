const KEPT = 'theme'

/** Applies the theme that was chosen; without a choice the browser's own is followed. */
export function applyTheme(): void {
  const kept = localStorage.getItem(KEPT)
  if (kept === 'light' || kept === 'dark') document.documentElement.dataset['theme'] = kept
}

export function turnTheme(): void {
  const { dataset } = document.documentElement
  const isDark = dataset['theme'] ? dataset['theme'] === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches
  dataset['theme'] = isDark ? 'light' : 'dark'
  localStorage.setItem(KEPT, dataset['theme'])
}

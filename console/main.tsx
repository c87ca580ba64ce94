import { QueryClientProvider } from '@tanstack/preact-query'
import { render } from 'preact'
import { queries } from './api/queries.ts'
import { language, speak } from './language.ts'
import { App } from './shell/app.tsx'
import { applyTheme } from './theme.ts'

applyTheme()
speak(language())
render(
  <QueryClientProvider client={queries}>
    <App />
  </QueryClientProvider>,
  document.getElementById('app')!,
)

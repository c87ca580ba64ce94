import { resolve } from 'node:path'
import { defineConfig, type Plugin } from 'vite'

/** The order of the layers stands first, whichever part's style comes first after it. */
const layers: Plugin = {
  name: 'layers',
  enforce: 'post',
  generateBundle(_, bundle) {
    for (const file of Object.values(bundle))
      if (file.type === 'asset' && file.fileName.endsWith('.css')) file.source = `@layer base,parts,pages;${file.source}`
  },
}

/** Nothing is inline, neither in the page nor in a style: its policy forbids it. */
export default defineConfig({
  root: import.meta.dirname,
  base: '/console/',
  publicDir: false,
  logLevel: 'warn',
  plugins: [layers],
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: process.env['CONSOLE_OUT'] ?? resolve(import.meta.dirname, '../assets/console'),
    emptyOutDir: true,
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    // What the first page needs is one script, also where other pages need parts of it.
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: 'first', tags: ['$initial'] }] } } },
    reportCompressedSize: false,
    target: ['chrome123', 'firefox125', 'safari17.5'],
  },
})

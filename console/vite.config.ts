import { resolve } from 'node:path'
import { defineConfig } from 'vite'

/** Nothing is inline, neither in the page nor in a style: its policy forbids it. */
export default defineConfig({
  root: import.meta.dirname,
  base: '/console/',
  publicDir: false,
  logLevel: 'warn',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: process.env['CONSOLE_OUT'] ?? resolve(import.meta.dirname, '../assets/console'),
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    target: ['chrome123', 'firefox125', 'safari17.5'],
  },
})

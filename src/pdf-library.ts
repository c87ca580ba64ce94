/**
 * Loads the library that reads PDFs. It is a module of its own, which the runtime compiles when it is first imported. It lies here because
 * wrangler finds such modules beside the entry of the Worker (`find_additional_modules`).
 */
export async function pdfLibrary() {
  // The library names this class when it is loaded, and uses it only to draw.
  ;(globalThis as { DOMMatrix?: unknown }).DOMMatrix ??= class {}
  return import('./pdfjs.mjs')
}

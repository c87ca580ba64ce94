import { drawing } from '../../platform/pdf/drawing.ts'
import { inOneGo, type Steps } from '../../platform/work/pause.ts'
import type { Language } from './catalogs.ts'
import { WORDS } from './labels.ts'
import { type PrintedState, readingSheet } from './sheet.ts'

/** A PDF of a document, with its XML inside: the same bytes for the same document, state and language. Throws CfdiRejected. */
export function* makingPdf(bytes: Uint8Array, state: PrintedState, language: Language): Steps<Uint8Array<ArrayBuffer>> {
  const t = WORDS[language]
  const { title, uuid, certified, isCancelled, blocks } = yield* readingSheet(bytes, state, language)
  return yield* drawing(blocks, {
    ...{ title, language: language === 'es' ? 'es-MX' : 'en', watermark: isCancelled ? t.watermark : null },
    source: { name: `${uuid}.xml`, type: 'application/xml', bytes, description: t.attached, modified: certified },
    footer: (page, pages) => ({ left: [uuid, state.isSandbox && t.sandbox].filter(Boolean).join(' · '), right: t.page(page, pages) }),
  })
}

/** `makingPdf` in one go. */
export const pdfOf = (...of: Parameters<typeof makingPdf>): Uint8Array<ArrayBuffer> => inOneGo(makingPdf(...of))

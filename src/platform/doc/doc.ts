/** A text of the OpenAPI document. The Worker has none of them, so that none can reach an answer. */
export type Doc = (string & { readonly doc: unique symbol }) | undefined

/**
 * Marks a text that only the OpenAPI document shows. Workers are built with left-out.ts in the place of this file (`imports` of
 * package.json).
 */
export const doc = (text: string): Doc => text as Doc

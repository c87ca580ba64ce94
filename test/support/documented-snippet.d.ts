/** The snippet in JavaScript of docs/webhooks.md, as it stands there (vitest.config.ts). */
declare module 'virtual:documented-snippet' {
  export function isSigned(body: Buffer, header: string | null | undefined, secret: string): boolean
}

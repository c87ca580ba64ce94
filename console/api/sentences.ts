type Spanish = typeof import('./spanish.ts')

let known: Spanish | null = null

/** Loads what refusals are called in Spanish, with the first one: most visits meet none. Without it, the API's own words are shown. */
export async function loadSentences(): Promise<void> {
  known ??= await import('./spanish.ts').catch(() => null)
}

export const spanishOf = (code: string): string | undefined => known?.SENTENCES[code]
export const spanishFault = (message: string): string | undefined => known?.FAULTS[message]

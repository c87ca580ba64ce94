type Spanish = typeof import('./spanish.ts')

let known: Spanish | null = null

/** Loads what refusals are called in Spanish, with the first one: most visits meet none. Without it, the API's own words are shown. */
export async function loadSentences(): Promise<void> {
  known ??= await import('./spanish.ts').catch(() => null)
}

/** The sentence of a refusal: of some codes, what the API says tells two cases apart. */
export const spanishOf = (code: string, said = ''): string | undefined =>
  known?.CASES[code]?.find(({ begins }) => said.startsWith(begins))?.text ?? known?.SENTENCES[code]
export const spanishFault = (message: string): string | undefined => known?.FAULTS[message]

/** Whether everything is measured in a small size (`npm run bench -- --short`). */
export const IS_SHORT = process.argv.includes('--short')

/** A size of the whole form, or of the short one. */
export const sized = <T>(whole: T, short: T): T => (IS_SHORT ? short : whole)

/** A number in the name of a figure: `10k`, `1m`. */
export const named = (n: number): string => (n % 1e6 === 0 ? `${n / 1e6}m` : `${n / 1e3}k`)

/** Whether everything is measured in a small size (`npm run bench -- --short`). */
export const IS_SHORT = process.argv.includes('--short')

/** A size of the whole form, or of the short one. */
export const sized = <T>(whole: T, short: T): T => (IS_SHORT ? short : whole)

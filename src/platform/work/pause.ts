/**
 * Lets the other requests of the isolate go on. A loop over input awaits it every few thousand steps: awaiting what is there already lets
 * nobody else in.
 */
export const letOthersGoOn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve))

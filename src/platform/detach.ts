/**
 * The text with memory of its own. The engine makes a part of more than twelve characters a view of the text, which keeps all of it in
 * memory.
 */
export const detached = (text: string): string => JSON.parse(JSON.stringify(text)) as string

/** Gives the texts of an object memory of their own, and returns it. */
export const detach = <T extends object>(one: T): T => {
  for (const name in one) {
    const value = one[name]
    if (typeof value === 'string' && value.length > 12) one[name] = detached(value) as typeof value
  }
  return one
}

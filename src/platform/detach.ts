/**
 * Gives the texts of an object memory of their own, and returns it. The engine makes a part of a text, of more than twelve characters, a
 * view of it, which keeps all of the text in memory.
 */
export const detach = <T extends object>(one: T): T => {
  for (const name in one) {
    const value = one[name]
    if (typeof value === 'string' && value.length > 12) one[name] = JSON.parse(JSON.stringify(value)) as typeof value
  }
  return one
}

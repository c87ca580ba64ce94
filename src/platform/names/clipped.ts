/** A text of at most this many characters: the beginning of a longer one, with an ellipsis. */
export const clipped = (text: string, most: number): string => (text.length > most ? `${text.slice(0, most - 1).toWellFormed()}…` : text)

/** The formulas of a surface that explain one of its figures: of the figure itself, else of what it is a part or a side of. */
export function formulasOf(figure: string, formulas: Record<string, string>): [name: string, formula: string][] {
  // A formula is of ISR and says that the one of IVA is alike.
  const own = [figure, figure.replace('iva_', 'isr_')]
  const ways: ((name: string) => boolean)[] = [
    (name) => own.includes(name),
    (name) => figure.startsWith(`${name}.`) || figure.startsWith(`${name}_`),
    (name) => figure.endsWith(`.${name}`),
  ]
  const found = ways.map((explains) => Object.entries(formulas).filter(([name]) => explains(name)))
  return found.find((some) => some.length > 0) ?? []
}

/** A formula with words in the place of members of the API. */
export const inWords = (formula: string, members: Record<string, string>): string =>
  formula.replace(/\b[a-z]+(?:_[a-z]+)*(?:=[a-z]+)?\b/g, (name) => members[name] ?? name)

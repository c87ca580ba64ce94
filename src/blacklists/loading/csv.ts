const SEPARATOR = /[,\r\n]/g

/**
 * The records of a CSV (RFC 4180): cells in quotes may hold commas, line ends and doubled quotes; records end with CRLF, LF or CR. A
 * quote inside a cell that does not begin with one is a quote; one that is never closed runs to the end of the text. Never throws.
 */
export function* recordsOf(text: string): Generator<string[]> {
  let at = 0
  /** From here to the next separator, as it is written. */
  const plain = (): string => {
    SEPARATOR.lastIndex = at
    const from = at
    at = SEPARATOR.exec(text)?.index ?? text.length
    return text.slice(from, at)
  }
  const quoted = (): string => {
    let cell = ''
    for (;;) {
      const from = at + 1
      const quote = text.indexOf('"', from)
      at = quote === -1 ? text.length : quote + 1
      cell += text.slice(from, quote === -1 ? text.length : quote)
      if (text[at] !== '"') return cell
      cell += '"'
    }
  }
  while (at < text.length) {
    const record: string[] = []
    for (let isOpen = true; isOpen; ) {
      record.push(text[at] === '"' ? quoted() + plain() : plain())
      isOpen = text[at] === ','
      if (isOpen) at++
    }
    if (text[at] === '\r' && text[at + 1] === '\n') at += 2
    else if (at < text.length) at++
    yield record
  }
}

const SEPARATOR = /[,\r\n]/g

/**
 * Yields the records of a CSV text (RFC 4180), which comes in pieces. Quoted cells may contain commas, line ends and doubled quotes. Records
 * end with CRLF, LF or CR. A quote within a cell that does not begin with a quote is literal; a quoted cell that is never closed ends with
 * the text, and whether there is one is what the generator returns. Never throws.
 */
export function* recordsOf(pieces: Iterable<string>): Generator<string[], boolean> {
  const coming = pieces[Symbol.iterator]()
  let text = ''
  let at = 0
  let isUnclosed = false
  /** Takes the next pieces, of at least so many characters together; '' when there are none. */
  const take = (length: number): string => {
    let taken = ''
    for (let next = coming.next(); !next.done; next = coming.next()) {
      taken += next.value
      if (taken !== '' && taken.length >= length) break
    }
    return taken
  }
  /** Reads up to the next separator. */
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
      isUnclosed = quote === -1
      at = isUnclosed ? text.length : quote + 1
      cell += text.slice(from, isUnclosed ? text.length : quote)
      if (text[at] !== '"') return cell
      cell += '"'
    }
  }
  for (;;) {
    const begin = at
    const record: string[] = []
    for (let isOpen = true; isOpen; ) {
      record.push(text[at] === '"' ? quoted() + plain() : plain())
      isOpen = text[at] === ','
      if (isOpen) at++
    }
    if (text[at] === '\r' && text[at + 1] === '\n') at += 2
    else if (at < text.length) at++
    // A record that ends with the piece may go on in the next one. A long one gets as much again, so that it is not read over and over.
    const more = at < text.length ? '' : take(text.length - begin)
    if (more !== '') {
      text = text.slice(begin) + more
      at = 0
    } else if (begin < text.length) yield record
    else return isUnclosed
  }
}

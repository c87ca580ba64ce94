/** A piece of text on a page: from the left and from the bottom, in points. */
export interface PositionedText {
  x: number
  y: number
  size: number
  isBold: boolean
  text: string
}

/** Returns a one-page PDF with a title and plain lines. The text must consist of windows-1252 characters. */
export const pdfOf = (title: string, lines: readonly string[]): Uint8Array =>
  pdfOfPages(title, [
    [
      { x: 56, y: 748, size: 13, isBold: true, text: title },
      ...lines.map((text, n): PositionedText => ({ x: 56, y: 720 - 15 * n, size: 10, isBold: false, text })),
    ],
  ])

/** Returns a PDF with these pages. The text must consist of windows-1252 characters. */
export function pdfOfPages(title: string, pages: readonly (readonly PositionedText[])[]): Uint8Array {
  const font = (name: string) => `<< /Type /Font /Subtype /Type1 /BaseFont /${name} /Encoding /WinAnsiEncoding >>`
  const first = 6
  const pageAt = (n: number) => first + 2 * n
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Kids [${pages.map((_, n) => `${pageAt(n)} 0 R`).join(' ')}] /Count ${pages.length} >>`,
    font('Helvetica'),
    font('Helvetica-Bold'),
    `<< /Title (${quoted(title)}) /Producer (SAT sandbox) >>`,
    ...pages.flatMap((page, n) => {
      const text = page
        .map(({ x, y, size, isBold, text: said }) => `BT /F${isBold ? 2 : 1} ${size} Tf ${x} ${y} Td (${quoted(said)}) Tj ET`)
        .join('\n')
      return [
        '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R /F2 4 0 R >> >> ' +
          `/Contents ${pageAt(n) + 1} 0 R >>`,
        `<< /Length ${text.length} >>\nstream\n${text}\nendstream`,
      ]
    }),
  ]
  let file = '%PDF-1.4\n'
  const offsets = objects.map((object, i) => {
    const offset = file.length
    file += `${i + 1} 0 obj\n${object}\nendobj\n`
    return offset
  })
  const start = file.length
  file += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n`
  file += offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('')
  file += `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R /Info 5 0 R >>\nstartxref\n${start}\n%%EOF\n`
  // One byte per character, so that the offsets above are offsets in the file.
  return Uint8Array.from(file, (letter) => letter.charCodeAt(0) & 0xff)
}

const quoted = (text: string): string => text.replace(/[\\()]/g, (letter) => `\\${letter}`)

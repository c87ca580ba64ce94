/** Returns a one-page PDF with a title and plain lines. The text must consist of windows-1252 characters. */
export function pdfOf(title: string, lines: readonly string[]): Uint8Array {
  const text = [
    'BT /F2 14 Tf 56 760 Td 18 TL',
    `(${quoted(title)}) Tj T* /F1 10 Tf`,
    ...lines.map((line) => `T* (${quoted(line)}) Tj`),
    'ET',
  ].join('\n')
  const font = (name: string) => `<< /Type /Font /Subtype /Type1 /BaseFont /${name} /Encoding /WinAnsiEncoding >>`
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 5 0 R /F2 6 0 R >> >> /Contents 4 0 R >>',
    `<< /Length ${text.length} >>\nstream\n${text}\nendstream`,
    font('Helvetica'),
    font('Helvetica-Bold'),
    `<< /Title (${quoted(title)}) /Producer (SAT sandbox) >>`,
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
  file += `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R /Info 7 0 R >>\nstartxref\n${start}\n%%EOF\n`
  // One byte per character, so that the offsets above are offsets in the file.
  return Uint8Array.from(file, (letter) => letter.charCodeAt(0) & 0xff)
}

const quoted = (text: string): string => text.replace(/[\\()]/g, (letter) => `\\${letter}`)

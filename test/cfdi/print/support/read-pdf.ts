import { inflateSync } from 'node:zlib'
import jsQR from 'jsqr'
import { extractText, getDocumentProxy } from 'unpdf'

/** What somebody can copy out of a PDF. */
export async function textOf(pdf: Uint8Array): Promise<string> {
  const { text } = await extractText(await getDocumentProxy(pdf.slice()), { mergePages: true })
  return text
}

/** A text without white space: lines and columns break it anywhere. */
export const solid = (text: string): string => text.replace(/\s+/g, '').toUpperCase()

/** The inflated streams of a PDF. */
export function streamsOf(pdf: Uint8Array): string[] {
  const file = Buffer.from(pdf)
  return [...file.toString('latin1').matchAll(/\/Length (\d+)>>\nstream\n/g)].map(({ 0: head, 1: length, index }) =>
    inflateSync(file.subarray(index + head.length, index + head.length + Number(length))).toString('latin1'),
  )
}

/** What the QR codes of a PDF say, read from its squares as a camera sees them. */
export function codesOf(pdf: Uint8Array): string[] {
  const figures = streamsOf(pdf).flatMap((stream) =>
    [...stream.matchAll(/ cm ((?:\d+ \d+ \d+ 1 re ?)+)f Q/g)].map(([, squares]) => squares!),
  )
  return figures.map((squares) => {
    const runs = [...squares.matchAll(/(\d+) (\d+) (\d+) 1 re/g)].map((run) => run.slice(1).map(Number) as [number, number, number])
    const rows = Math.max(...runs.map(([, y]) => y)) + 1
    const [scale, quiet] = [4, 4]
    const side = (rows + 2 * quiet) * scale
    const image = new Uint8ClampedArray(side * side * 4).fill(255)
    for (const [x, y, width] of runs)
      for (let row = 0; row < scale; row++)
        for (let column = 0; column < width * scale; column++)
          image.set([0, 0, 0], (((rows - 1 - y + quiet) * scale + row) * side + (x + quiet) * scale + column) * 4)
    return jsQR(image, side, side)?.data ?? ''
  })
}

import { pdfLibrary } from '../../pdf-library.ts'
import { linesOf, readOpinion, Unreadable } from './page-lines.ts'
import { readTaxStatus } from './tax-status.ts'

const READERS = { '/csf': readTaxStatus, '/opinion_32d': readOpinion }

/**
 * Reads the fields of a PDF: `POST /csf` or `POST /opinion_32d` with its bytes. Answers 200 `{fields}`, or 422 `{reason}` when the PDF can
 * never be read, which is final. Anything else may succeed later.
 */
export async function answer(request: Request): Promise<Response> {
  const read = READERS[new URL(request.url).pathname as keyof typeof READERS]
  if (!read || request.method !== 'POST') return Response.json({ reason: 'There is nothing to read here.' }, { status: 404 })
  try {
    const pdf = await opened(new Uint8Array(await request.arrayBuffer()))
    try {
      return Response.json({ fields: read(await linesOf(pdf)) })
    } finally {
      await pdf.loadingTask.destroy()
    }
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error
    return Response.json({ reason: error.message }, { status: 422 })
  }
}

const opened = async (bytes: Uint8Array) => {
  try {
    const { getDocument } = await pdfLibrary()
    return await getDocument({ data: bytes, useSystemFonts: true, verbosity: 0 }).promise
  } catch (error) {
    const name = error instanceof Error ? error.name : ''
    if (name === 'PasswordException') throw new Unreadable('The PDF is protected by a password.')
    if (/^(InvalidPDF|FormatError|MissingPDF)/.test(name)) throw new Unreadable('The file is not a PDF that can be opened.')
    throw error
  }
}

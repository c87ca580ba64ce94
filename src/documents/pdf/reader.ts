import { WorkerEntrypoint } from 'cloudflare:workers'

/** Behind the binding PDF: reads PDFs in an invocation of its own, so that one that takes too long ends nothing but its own reading. */
export class PdfReader extends WorkerEntrypoint {
  override async fetch(request: Request): Promise<Response> {
    const { answer } = await import('./answer.ts')
    return answer(request)
  }
}

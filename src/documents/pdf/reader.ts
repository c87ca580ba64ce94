import { WorkerEntrypoint } from 'cloudflare:workers'
import { memory } from '../../platform/memory-limiter.ts'

/** The memory of an opened PDF of some hundred kilobytes. */
const WEIGHT = 2 * 1024 * 1024

/** Behind the binding PDF: reads PDFs in an invocation of its own, so that one that takes too long ends only its own reading. */
export class PdfReader extends WorkerEntrypoint {
  override async fetch(request: Request): Promise<Response> {
    const { answer } = await import('./answer.ts')
    return memory.hold(WEIGHT, () => answer(request))
  }
}

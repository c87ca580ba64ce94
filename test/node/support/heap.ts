import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Started } from './runner.ts'

/** What an isolate uses, in bytes. */
export interface HeapUse {
  used: number
  backing: number
  sum: number
}

const EVERY_MS = 50

/** The ports of loopback that a process listens on. */
function portsOf(pid: number): number[] {
  const sockets = new Set(
    readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? []
      } catch {
        return [] // It was closed after it was listed.
      }
    }),
  )
  return ['tcp', 'tcp6'].flatMap((table) =>
    readFileSync(`/proc/${pid}/net/${table}`, 'utf8')
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .filter(([, , , state, , , , , , inode]) => state === '0A' && sockets.has(inode!))
      .map(([, local]) => Number.parseInt(local!.split(':')[1]!, 16)),
  )
}

/** The inspector of a Worker. The local runtime has other Workers beside those of the service, which simulate the platform. */
async function inspectorOf(service: Started): Promise<string> {
  for (const { pid } of service.children().workerd) {
    for (const port of portsOf(pid)) {
      const targets = await fetch(`http://127.0.0.1:${port}/json/list`, { signal: AbortSignal.timeout(2_000) })
        .then((response) => response.json() as Promise<{ id: string; webSocketDebuggerUrl: string }[]>)
        .catch(() => [])
      const own = Array.isArray(targets) ? targets.find(({ id }) => id.startsWith('core:user:fiscal-data-service')) : undefined
      if (own) return `ws://127.0.0.1:${port}/${own.id}`
    }
  }
  throw new Error('No inspector lists the Worker.')
}

/** Samples the heap of a Worker of the service through the inspector. */
export class HeapWatch {
  readonly #url: string
  #socket: WebSocket | null = null
  #asked = 0

  private constructor(url: string) {
    this.#url = url
  }

  static async of(service: Started): Promise<HeapWatch> {
    return new HeapWatch(await inspectorOf(service))
  }

  /** The inspector has one client at a time, and the runtime is one too: it takes the connection back now and then. */
  async #ask(method: string): Promise<unknown> {
    for (let attempt = 0; attempt < 50; attempt++) {
      try {
        this.#socket ??= await opened(this.#url)
        return await answered(this.#socket, ++this.#asked, method)
      } catch {
        this.#socket?.close()
        this.#socket = null
        await sleep(20)
      }
    }
    throw new Error(`The inspector does not answer ${method}.`)
  }

  async use(): Promise<HeapUse> {
    const { usedSize, backingStorageSize } = (await this.#ask('Runtime.getHeapUsage')) as { usedSize: number; backingStorageSize: number }
    return { used: usedSize, backing: backingStorageSize, sum: usedSize + backingStorageSize }
  }

  /** Lets the engine collect what nothing refers to, so that a measurement does not begin with what an earlier one left. */
  async collect(): Promise<HeapUse> {
    await this.#ask('HeapProfiler.collectGarbage')
    return this.use()
  }

  /**
   * The greatest use while something runs, sampled every 50 ms. Garbage counts, unless it is collected before each sample: that of a short
   * work may never grow to where the engine collects it. The Worker goes on between the collection and the look, so that some garbage is in a
   * sample all the same: what counts then is what lasts for three samples.
   */
  async peakDuring<T>(work: () => Promise<T>, isCollected: boolean): Promise<{ result: T; peak: HeapUse; samples: number }> {
    const sample = () => (isCollected ? this.collect() : this.use())
    let peak = await sample()
    let last = [peak]
    let samples = 1
    let isOver = false
    const sampling = (async () => {
      while (!isOver) {
        await sleep(EVERY_MS)
        last = [...last, await sample()].slice(isCollected ? -3 : -1)
        samples++
        const lasting = last.reduce((least, one) => (one.sum < least.sum ? one : least))
        if (lasting.sum > peak.sum) peak = lasting
      }
    })()
    try {
      const result = await work()
      return { result, peak, samples }
    } finally {
      isOver = true
      await sampling
    }
  }

  close(): void {
    this.#socket?.close()
  }
}

const opened = (url: string): Promise<WebSocket> =>
  new Promise((done, failed) => {
    const socket = new WebSocket(url)
    socket.addEventListener('open', () => done(socket), { once: true })
    for (const event of ['error', 'close'] as const) socket.addEventListener(event, () => failed(new Error(event)), { once: true })
  })

const answered = (socket: WebSocket, id: number, method: string): Promise<unknown> =>
  new Promise((done, failed) => {
    const over = new AbortController()
    const end = (settle: () => void) => {
      over.abort()
      clearTimeout(timer)
      settle()
    }
    const timer = setTimeout(() => end(() => failed(new Error('time'))), 10_000)
    const { signal } = over
    for (const event of ['error', 'close'] as const) socket.addEventListener(event, () => end(() => failed(new Error(event))), { signal })
    socket.addEventListener(
      'message',
      ({ data }) => {
        const answer = JSON.parse(String(data)) as { id: number; result: unknown }
        if (answer.id === id) end(() => done(answer.result))
      },
      { signal },
    )
    socket.send(JSON.stringify({ id, method }))
  })

import { createServer, type Server, type Socket } from 'node:net'

/** What a receiver does once it has a request whole. */
export type Script = (socket: Socket) => void

export interface Received {
  head: string
  body: Buffer
  /** Of the connection that it came by. */
  socket: Socket
}

/** A receiver on loopback that reads and answers bytes, as its scripts say by path. */
export class Receiver {
  readonly received: Received[] = []
  #scripts = new Map<string, Script>()
  #server: Server

  constructor() {
    this.#server = createServer((socket) => {
      socket.on('error', () => null)
      let all = Buffer.alloc(0)
      const collect = (piece: Buffer) => {
        all = Buffer.concat([all, piece])
        const end = all.indexOf('\r\n\r\n')
        const head = all.subarray(0, end).toString('latin1')
        const body = all.subarray(end + 4)
        if (end < 0 || body.length < Number(/^content-length: (\d+)$/m.exec(head.replaceAll('\r', ''))?.[1] ?? 0)) return
        socket.off('data', collect).resume()
        this.received.push({ head, body, socket })
        this.#scripts.get(/^\S+ ([^ ?]+)/.exec(head)?.[1] ?? '')?.(socket)
      }
      socket.on('data', collect)
    })
  }

  listen(host = '127.0.0.1'): Promise<number> {
    return new Promise((done, failed) => {
      this.#server.once('error', failed).listen(0, host, () => {
        const address = this.#server.address()
        done(typeof address === 'object' ? address!.port : 0)
      })
    })
  }

  on(path: string, script: Script): void {
    this.#scripts.set(path, script)
  }

  /** What came to a path. */
  at = (path: string): Received[] => this.received.filter(({ head }) => head.split(' ')[1]!.split('?')[0] === path)

  close(): void {
    this.#server.close()
  }
}

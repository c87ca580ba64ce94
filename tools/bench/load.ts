import { Agent, get } from 'node:http'

export interface Asked {
  url: string
  headers?: Record<string, string>
}

const CONNECTIONS = 16

/** Requests a second, over kept connections, each asking again as soon as it is answered. */
export async function load({ url, headers = {} }: Asked, seconds: number): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  const began = performance.now()
  let answered = 0
  const one = () =>
    new Promise<void>((resolve, reject) => {
      get(url, { agent, headers }, (response) => {
        if (response.statusCode !== 200) reject(new Error(`${url} answered ${response.statusCode}.`))
        response.on('end', resolve).on('error', reject).resume()
      }).on('error', reject)
    })
  const asking = async () => {
    while (performance.now() - began < seconds * 1_000) {
      await one()
      answered++
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, asking))
  const elapsed = performance.now() - began
  agent.destroy()
  return (answered / elapsed) * 1_000
}

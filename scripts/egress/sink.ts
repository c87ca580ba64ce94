/** The receiver of deliveries on a laptop. */
export interface Sink {
  hostname: string
  port: number
}

const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]']

/** Reads WEBHOOK_SINK: null when it is empty. Throws unless it names a receiver on loopback. */
export function sinkOf(text: string): Sink | null {
  if (text === '') return null
  const url = URL.parse(text)
  const isBare = url !== null && url.username === '' && url.password === '' && url.pathname === '/' && url.search === '' && url.hash === ''
  if (!isBare || url.protocol !== 'http:' || !LOOPBACK.includes(url.hostname))
    throw new Error(`WEBHOOK_SINK must be http://127.0.0.1:{port} (or localhost, or [::1]) without a path, not “${text}”.`)
  return { hostname: url.hostname, port: Number(url.port || 80) }
}

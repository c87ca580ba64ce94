/** The receiver of deliveries, or the stand-in of storage providers or of the tax authority, on a laptop. */
export interface SinkAddress {
  hostname: string
  port: number
}

const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]']

/** Reads WEBHOOK_SINK, STORAGE_SINK or SAT_STAND_IN: null when it is empty. Throws unless it names a receiver on loopback. */
export function sinkOf(name: string, text: string): SinkAddress | null {
  if (text === '') return null
  const url = URL.parse(text)
  const isBare = url !== null && url.username === '' && url.password === '' && url.pathname === '/' && url.search === '' && url.hash === ''
  if (!isBare || url.protocol !== 'http:' || !LOOPBACK.includes(url.hostname))
    throw new Error(`${name} must be http://127.0.0.1:{port} (or localhost, or [::1]) without a path, not “${text}”.`)
  return { hostname: url.hostname, port: Number(url.port || 80) }
}

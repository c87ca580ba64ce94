import { follow } from './log.ts'
import { placeOf, Refusal, Service } from './service.ts'

try {
  const place = placeOf(process.env)
  console.log(`Starting on ${place.stateDir} …`)
  const unfollow = follow(place.log, (line) => console.log(line))
  const stopping = new AbortController()
  const starting = Service.start(place, stopping.signal)
  const stop = () => {
    if (stopping.signal.aborted) return
    console.log('\nStopping …')
    stopping.abort()
    void starting.then((service) => service.stop()).catch(() => null)
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop)
  const service = await starting.catch((error: unknown) => {
    if (!stopping.signal.aborted) throw error
    console.log('Stopped.')
    process.exit(0)
  })
  if (!stopping.signal.aborted)
    console.log(`
  Service     ${place.url}
  Console     ${place.url}/console/
  Mails       ${place.url}/console/mails
  Reference   ${place.url}/docs
  Health      ${place.url}/health
  State       ${place.stateDir} (kept between starts; the log is service.log)
  Crons       fired as in production. To have days pass: npm run clock -- 3, or POST /v1/test-helpers/clock

Press Ctrl-C to stop.
`)
  const reason = await service.ended
  unfollow()
  if (reason !== null) throw new Refusal(reason)
  console.log('Stopped.')
} catch (error) {
  console.error(error instanceof Refusal ? error.message : error)
  process.exitCode = 1
}

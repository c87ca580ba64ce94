import { scheduledPath } from './crons.ts'
import { follow } from './log.ts'
import { placeOf, Refusal, Service } from './service.ts'
import { CRONS } from './wrangler.ts'

try {
  const place = placeOf(process.env)
  console.log(`Starting on ${place.stateDir} …`)
  const unfollow = follow(place.log, (line) => console.log(line))
  const starting = Service.start(place)
  const stop = () => void starting.then((service) => service.stop()).catch(() => null)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop)
  const service = await starting
  console.log(`
  Service     ${place.url}
  Console     ${place.url}/console/
  Reference   ${place.url}/docs
  Health      ${place.url}/health
  State       ${place.stateDir} (kept between starts; the log is service.log)
  Crons       fired as in production. To fire one by hand, at any time of your choice:
              curl '${place.url}${scheduledPath(CRONS[0] ?? '* * * * *', Date.now())}'

Press Ctrl-C to stop.
`)
  const reason = await service.ended
  unfollow()
  if (reason !== null) throw new Refusal(reason)
} catch (error) {
  console.error(error instanceof Refusal ? error.message : error)
  process.exitCode = 1
}

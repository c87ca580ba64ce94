import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { makeEfirma } from './certificates.ts'
import { startStandIn } from './stand-in.ts'
import { generate } from './truth/generate.ts'

/**
 * npm run stand-in -- [--rfc EKU9003173C9] [--months 36] [--port 9300] [--checks 1] [--each 6] [--folder .state/efirma]
 *
 * Starts the stand-in of the tax authority for trials by hand. It has invented documents of the last months of one RFC, for which it writes an
 * e.firma into a folder. It prints every request and what it answered.
 */
const { values } = parseArgs({
  options: {
    rfc: { type: 'string', default: 'EKU9003173C9' },
    months: { type: 'string', default: '36' },
    port: { type: 'string', default: '9300' },
    checks: { type: 'string', default: '1' },
    each: { type: 'string', default: '6' },
    folder: { type: 'string', default: '.state/efirma' },
  },
})
const { rfc, folder } = values
const [months, each] = [Number(values.months), Number(values.each)]
const now = new Date()
const from = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months + 1, 1)).toISOString().slice(0, 7)
const truth = generate({ rfc, from, months, counts: { issued: each, received: each } })
const { url, log } = await startStandIn({ port: Number(values.port), truth, checks: Number(values.checks) })

mkdirSync(folder, { recursive: true })
const { certificate, private_key, password } = makeEfirma(rfc)
writeFileSync(join(folder, 'request.json'), JSON.stringify({ rfc, efirma: { certificate, private_key, password } }, null, 2), {
  mode: 0o600,
})
console.log(`
  Documents   ${truth.documents.length} of ${rfc}, from ${from} on; those of this month appear as they are stamped
  e.firma     ${join(folder, 'request.json')}, the body of POST /v1/fiscal-entities
  Service     TAX_AUTHORITY=sat SAT_STAND_IN=${url} AUTHORITY_WAIT_FACTOR=0.05 npm start

Press Ctrl-C to stop.
`)

let printed = 0
let told = 0
setInterval(() => {
  for (const { at, operation, family, parameters, answer } of log.entries.slice(printed)) {
    const { TipoSolicitud = '', FechaInicial = '', FechaFinal = '' } = parameters
    console.log(
      [new Date(at).toISOString(), operation, family, TipoSolicitud, FechaInicial, FechaFinal, '→', answer].filter(Boolean).join(' '),
    )
  }
  for (const violation of log.violations.slice(told)) console.log(`! ${violation}`)
  printed = log.entries.length
  told = log.violations.length
}, 500)

import { writeFileSync } from 'node:fs'
import { load } from './load.ts'
import { withRig, stopRigs } from './rig.ts'
import { tenants } from './tenants.ts'
await withRig(async (rig) => {
  const { small } = await tenants(rig)
  const url = `${rig.service}/v1/cfdi?${new URLSearchParams({ fiscal_entity_id: small.fiscal_entity_id, limit: '25' })}`
  const one = { url, headers: { authorization: small.authorization } }
  await load(one, 2)
  const list = await (await fetch('http://127.0.0.1:9339/json')).json() as any[]
  const target = list.find((x) => /service/.test(x.id + x.title))
  console.log(list.map((x) => x.id + ' ' + x.title))
  const ws = new WebSocket(target.webSocketDebuggerUrl)
  await new Promise((r) => ws.addEventListener('open', r))
  let id = 0
  const waits = new Map<number, (v: any) => void>()
  ws.addEventListener('message', (m) => { const d = JSON.parse(String(m.data)); waits.get(d.id)?.(d.result) })
  const call = (method: string, params = {}) => new Promise<any>((r) => { waits.set(++id, r); ws.send(JSON.stringify({ id, method, params })) })
  await call('Profiler.enable'); await call('Profiler.setSamplingInterval', { interval: 200 }); await call('Profiler.start')
  console.log('rps', await load(one, 8))
  const { profile } = await call('Profiler.stop')
  writeFileSync('/tmp/profile.json', JSON.stringify(profile))
  ws.close()
})
await stopRigs()

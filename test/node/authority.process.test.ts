import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Customer } from '../../scripts/customer.ts'
import { placeOf } from '../../scripts/service.ts'
import { makeEfirma } from '../../tools/stand-in/certificates.ts'
import { type StandIn, startStandIn } from '../../tools/stand-in/stand-in.ts'
import { generate } from '../../tools/stand-in/truth/generate.ts'
import { discard, freePort, freshState, Started } from './support/runner.ts'

const RFC = 'EKU9003173C9'
const HOST = 'cfdidescargamasivasolicitud.clouda.sat.gob.mx'

describe('npm start with the real authority, whose stand-in is on loopback', () => {
  const stateDir = freshState()
  const runners: Started[] = []
  let standIn: StandIn
  let service: Started
  let customer: Customer

  beforeAll(async () => {
    standIn = await startStandIn({ truth: generate({ rfc: RFC, from: new Date().toISOString().slice(0, 7), months: 1 }) })
    const variables = { TAX_AUTHORITY: 'sat', SAT_STAND_IN: standIn.url, AUTHORITY_WAIT_FACTOR: '0.01' }
    // What else stands in the environment of the shell changes nothing.
    service = new Started(stateDir, await freePort(), { ...variables, ENVIRONMENT: 'live', LIST_URLS: 'nonsense' })
    runners.push(service)
    await service.ready()
    customer = await Customer.signUp(service.url, 'Despacho Uno')
  })
  afterAll(async () => {
    await discard(stateDir, runners)
    await standIn.close()
  })

  it('says so', async () => {
    expect(await (await fetch(`${service.url}/health`)).json()).toEqual({ status: 'ok', environment: 'test', tax_authority: 'sat' })
  })

  it('connects an e.firma after the authority has accepted it, over the local way out', async () => {
    const { certificate, private_key, password } = makeEfirma(RFC)
    const body = { rfc: RFC, efirma: { certificate, private_key, password } }
    expect(await customer.ask('POST', '/v1/fiscal-entities', body)).toMatchObject({ status: 'active', credential_kind: 'efirma' })
    const [first] = standIn.log.entries
    expect(first).toMatchObject({ host: HOST, operation: 'Autentica', rfc: RFC, answer: 'token' })
    expect(standIn.log.violations).toEqual([])
  })

  it('connects none that it refuses', async () => {
    const { certificate, private_key, password } = makeEfirma('JES900109Q90', { number: '30001000000500008888' })
    standIn.authority.revoke('30001000000500008888')
    const body = { rfc: 'JES900109Q90', efirma: { certificate, private_key, password } }
    await expect(customer.ask('POST', '/v1/fiscal-entities', body)).rejects.toThrow(/answered 4\d\d/)
    const { data } = await customer.ask<{ data: { rfc: string }[] }>('GET', '/v1/fiscal-entities')
    expect(data.map(({ rfc }) => rfc)).toEqual([RFC])
  })

  it('gives requests and downloads the same authority: what is downloaded is CFDIs only', async () => {
    const { data } = await customer.ask<{ data: { fiscal_entity_id: string }[] }>('GET', '/v1/fiscal-entities')
    const path = `/v1/fiscal-entities/${data[0]!.fiscal_entity_id}/sync-jobs?limit=100`
    let sources: string[] = []
    for (let tries = 0; sources.length === 0 && tries < 60; tries++) {
      await new Promise((done) => setTimeout(done, 500))
      const jobs = await customer.ask<{ data: { data_source_key: string }[] }>('GET', path)
      sources = [...new Set(jobs.data.map(({ data_source_key }) => data_source_key))].sort()
    }
    expect(sources).toEqual(['sat_cfdi_issued', 'sat_cfdi_received'])
  })
})

it('npm start takes the authority from its environment, and nothing else of the settings', () => {
  const { variables, sinks } = placeOf({
    TAX_AUTHORITY: 'sat',
    SAT_STAND_IN: 'http://127.0.0.1:9000',
    AUTHORITY_WAIT_FACTOR: '',
    ENVIRONMENT: 'live',
  })
  expect(variables).toEqual({ TAX_AUTHORITY: 'sat' })
  expect(sinks.SAT_STAND_IN).toBe('http://127.0.0.1:9000')
  expect(placeOf({}).variables).toEqual({})
})

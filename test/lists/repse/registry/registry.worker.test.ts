import { env } from 'cloudflare:workers'
import fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { registryOf } from '../../../../src/lists/repse/registry/adapters.ts'
import { liveRegistry } from '../../../../src/lists/repse/registry/live.ts'
import {
  ABSENT,
  fieldOf,
  normalName,
  RegistryUnavailable,
  readRegistration,
  readSearch,
  sandboxRegistry,
} from '../../../../src/lists/repse/registry/registry.ts'
import { registrationStatus } from '../../../../src/lists/repse/status.ts'
import { systemOf } from '../../../../src/platform/context.ts'
import { freshRfc } from '../../../support/tenants.ts'
import { CAPTCHA, FORM, NOTHING, registrationPage, searchPage } from '../support/repse-pages.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

const LIMPIEZA = {
  folio: '48213',
  name: 'LIMPIEZA &amp; MANTENIMIENTO DEL NORTE, S.A. DE C.V.',
  cursor: 'Nuevo León / San Pedro Garza García',
  notice: 'AR12003 / 2021-08-03',
  until: '2027-08-03',
  services: ['Servicios de limpieza', 'Recolecci&#243;n de <b>residuos</b>'],
}
const LIMPIEZA_READ = {
  is_registered: true,
  folio: '48213',
  razon_social: 'LIMPIEZA & MANTENIMIENTO DEL NORTE, S.A. DE C.V.',
  entidad: 'Nuevo León',
  municipio: 'San Pedro Garza García',
  num_aviso: 'AR12003',
  fecha_aviso: '2021-08-03',
  vigencia_hasta: '2027-08-03',
  actividades: [
    { descripcion: 'Servicios de limpieza', folio: '48213' },
    { descripcion: 'Recolección de residuos', folio: '48213' },
  ],
}

describe('a page of the registry', () => {
  it('of a registration has every member', () => {
    expect(readRegistration(registrationPage(LIMPIEZA))).toEqual(LIMPIEZA_READ)
  })

  it('of a registration may leave notice, end and services empty', () => {
    const page = registrationPage({ ...LIMPIEZA, notice: ' / ', until: '', services: [], cursor: 'Jalisco' })
    expect(readRegistration(page)).toMatchObject({
      ...{ num_aviso: null, fecha_aviso: null, vigencia_hasta: null, entidad: 'Jalisco', municipio: null, actividades: [] },
    })
  })

  it('of a search has its lines, over pages', () => {
    expect(
      readSearch(
        searchPage(
          [
            ['UNO, S.C.', '1'],
            ['DOS &amp; TRES', '22'],
          ],
          3,
        ),
      ),
    ).toEqual({
      found: [
        { razon_social: 'UNO, S.C.', number: '1' },
        { razon_social: 'DOS & TRES', number: '22' },
      ],
      pages: 3,
    })
    expect(readSearch(NOTHING)).toEqual({ found: [], pages: 0 })
  })

  it('gives the field that goes back', () => {
    expect([fieldOf(FORM, 'token'), fieldOf(FORM, 'Ce1')]).toEqual(['9f2c&51', '1'])
  })

  it.each([
    ['a captcha', CAPTCHA],
    ['nothing', ''],
    ['an empty object', '{}'],
    ['null', 'null'],
    ['no lines and no word that there are none', JSON.stringify({ data: '', total_pag: 0 })],
    ['lines that are none', JSON.stringify({ data: '<div>Error</div>', total_pag: 1 })],
    ['an error', '<h1>500</h1>'],
    ['a page of maintenance', 'Sitio en mantenimiento'],
  ])('that is %s is no answer, and never absence', (_, page) => {
    expect(() => readSearch(page)).toThrow(RegistryUnavailable)
    expect(() => readRegistration(page)).toThrow(RegistryUnavailable)
    expect(() => fieldOf(page, 'token')).toThrow(RegistryUnavailable)
  })

  it('of a registration that lost a part is no answer', () => {
    const page = registrationPage(LIMPIEZA)
    for (const part of ['REGISTRO LOCALIZADO FOLIO', 'Vigencia del Registro', 'Nombre o Raz&oacute;n Social', '2027-08-03'])
      expect(() => readRegistration(page.replace(part, 'x')), part).toThrow(RegistryUnavailable)
  })

  it('cut anywhere, or with anything in it, is read or refused, and nothing else', () => {
    const pages = [FORM, registrationPage(LIMPIEZA), searchPage([['UNO', '1']]), NOTHING]
    fc.assert(
      fc.property(fc.constantFrom(...pages), fc.nat(2_000), fc.nat(200), fc.string(), (page, from, length, text) => {
        const broken = page.slice(0, from) + text + page.slice(from + length)
        for (const read of [readSearch, readRegistration, (it: string) => fieldOf(it, 'token')])
          try {
            read(broken)
          } catch (error) {
            expect(error).toBeInstanceOf(RegistryUnavailable)
          }
      }),
    )
  })
})

describe('two spellings of a name', () => {
  it.each([
    ['Limpieza del Norte', 'LIMPIEZA DEL NORTE, S.A. DE C.V.'],
    ['CONSULTORÍA INTEGRAL', 'Consultoria  Integral S. de R.L. de C.V.'],
    ['SEGURIDAD PRIVADA MUÑOZ', 'SEGURIDAD PRIVADA MUNOZ SAPI DE CV'],
    ['A & B SERVICIOS', 'A&B SERVICIOS SC'],
    ['JOSÉ PÉREZ LÓPEZ', 'Jose Perez Lopez'],
  ])('%s and %s agree', (one, other) => {
    expect(normalName(one)).toBe(normalName(other))
  })

  it('of two companies do not', () => {
    const names = ['LIMPIEZA DEL NORTE', 'LIMPIEZA DEL NORTE II', 'LIMPIEZA NORTE', 'S.A. DE C.V.', 'SA']
    expect(new Set(names.map(normalName)).size).toBe(names.length)
    expect(names.map(normalName)).not.toContain('')
  })
})

/** A registry at the address: what it answers to each request, as `METHOD path`, and the forms that it got. */
function registry(answers: (form: URLSearchParams | null, path: string) => string | Response) {
  const requests: { path: string; form: URLSearchParams | null; cookie: string | null }[] = []
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
    const path = new URL(String(input)).pathname
    const form = (init?.body as URLSearchParams | undefined) ?? null
    requests.push({ path, form, cookie: new Headers(init?.headers).get('cookie') })
    const answer = answers(form, path)
    return answer instanceof Response ? answer : new Response(answer, { headers: { 'set-cookie': 'PHPSESSID=abc; path=/; HttpOnly' } })
  })
  return requests
}
const live = liveRegistry('https://registry.test')
const named = async () => 'Limpieza & Mantenimiento del Norte'

describe('the live registry', () => {
  const right = (form: URLSearchParams | null, path: string) => {
    if (form === null) return FORM
    if (path.endsWith('dataconsulta.php'))
      return form.get('page') === '1'
        ? searchPage([['LIMPIEZA Y MANTENIMIENTO DEL SUR SA DE CV', '7']], 2)
        : searchPage([['Limpieza & Mantenimiento del Norte SA de CV', '48213']], 2)
    return registrationPage(LIMPIEZA)
  }

  it('is searched by name over its pages, and the registration of exactly that name is opened', async () => {
    const requests = registry(right)
    expect(await live.lookUp('LMN010101AA1', named)).toEqual(LIMPIEZA_READ)
    expect(requests.map(({ path }) => path)).toEqual(['/app/', '/app/dataconsulta.php', '/app/dataconsulta.php', '/app/'])
    expect(requests.slice(1).map(({ cookie }) => cookie)).toEqual(Array(3).fill('PHPSESSID=abc'))
    expect(Object.fromEntries(requests[1]!.form!)).toMatchObject({ Ce1: '1', page: '1', token: '9f2c&51' })
    expect(Object.fromEntries(requests[3]!.form!)).toMatchObject({ iem: '48213', repempdet: '1', tokensec: '9f2c&51' })
  })

  it('answers absence when it says itself that it has nothing, or has other names only', async () => {
    registry((form) => (form === null ? FORM : NOTHING))
    expect(await live.lookUp('LMN010101AA1', named)).toEqual(ABSENT)
    registry((form) => (form === null ? FORM : searchPage([['LIMPIEZA DEL SUR', '7']])))
    expect(await live.lookUp('LMN010101AA1', named)).toEqual(ABSENT)
  })

  it('takes of several registrations under the name the one that ends last', async () => {
    const ends: Record<string, string> = { 1: '2024-01-01', 2: '2027-01-01', 3: '2021-01-01' }
    registry((form, path) => {
      if (form === null) return FORM
      if (path.endsWith('.php'))
        return searchPage(Object.keys(ends).map((number) => ['LIMPIEZA & MANTENIMIENTO DEL NORTE', number] as const))
      return registrationPage({ ...LIMPIEZA, until: ends[form.get('iem')!]! })
    })
    expect(await live.lookUp('LMN010101AA1', named)).toMatchObject({ vigencia_hasta: '2027-01-01' })
  })

  it.each<[string, (form: URLSearchParams | null, path: string) => string | Response]>([
    ['wants a captcha at once', () => CAPTCHA],
    ['wants a captcha for the search', (form) => (form === null ? FORM : CAPTCHA)],
    ['wants a captcha for the registration', (form, path) => (form && !path.endsWith('.php') ? CAPTCHA : right(form, path))],
    ['answers 403', () => new Response('no', { status: 403 })],
    ['answers 500 to the search', (form) => (form === null ? FORM : new Response('', { status: 500 }))],
    ['has too many names like it', (form) => (form === null ? FORM : searchPage([['OTRA', '1']], 400))],
    [
      'has too many of the name',
      (form) => (form === null ? FORM : searchPage(['1', '2', '3', '4'].map((n) => ['LIMPIEZA & MANTENIMIENTO DEL NORTE', n] as const))),
    ],
    [
      'breaks off',
      () => {
        throw new TypeError('Network connection lost.')
      },
    ],
  ])('that %s has not answered', async (_, answers) => {
    registry(answers)
    await expect(live.lookUp('LMN010101AA1', named)).rejects.toThrow(RegistryUnavailable)
  })

  it('is not asked about a taxpayer whose name nobody knows', async () => {
    const requests = registry(right)
    for (const name of [null, '', ' ., ']) await expect(live.lookUp('LMN010101AA1', async () => name)).rejects.toThrow(RegistryUnavailable)
    expect(requests).toEqual([])
  })

  it('is the one that the configuration names', async () => {
    const system = (REPSE_REGISTRY: string) =>
      systemOf({ ...env, REPSE_REGISTRY, REPSE_REGISTRY_URL: 'https://elsewhere.test' } as unknown as Env, new Date(), 'req')
    const requests = registry(right)
    await registryOf(system('live')).lookUp('LMN010101AA1', named)
    expect(requests.length).toBe(4)
    await registryOf(system('sandbox')).lookUp('LMN010101AA1', named)
    expect(requests.length).toBe(4)
    expect(() => registryOf(system('none'))).toThrow('REPSE_REGISTRY must be sandbox or live.')
  })
})

describe('the sandbox registry', () => {
  const unnotified = { find: async () => null }
  const kindOf = async (rfc: string, now: Date) => {
    const record = await sandboxRegistry(unnotified, now).lookUp(rfc, named)
    if (!record.is_registered) return 'absent'
    const { is_expired, days_to_expiry } = registrationStatus(record, now.toISOString().slice(0, 10))
    return days_to_expiry === null ? 'endless' : is_expired ? 'expired' : days_to_expiry <= 60 ? 'expiring' : 'registered'
  }

  it('has all kinds of records, always the same kind for an RFC, on any day', async () => {
    const rfcs = Array.from({ length: 200 }, freshRfc)
    const kinds = await Promise.all(rfcs.map((rfc) => kindOf(rfc, new Date('2026-11-18T12:00:00Z'))))
    for (const kind of ['absent', 'endless', 'expired', 'expiring', 'registered'])
      expect(kinds.filter((one) => one === kind).length, kind).toBeGreaterThan(5)
    for (let day = 0; day < 400; day += 7) {
      const now = new Date(Date.UTC(2026, 0, 1 + day, 23))
      expect(await Promise.all(rfcs.map((rfc) => kindOf(rfc, now)))).toEqual(kinds)
    }
  })
})

import type { Operation, Step } from './script.ts'

/** Bad days, by the names under which `npm run stand-in` takes them. */

const ASK: readonly Operation[] = ['SolicitaDescargaEmitidos', 'SolicitaDescargaRecibidos', 'SolicitaDescargaFolio']
const ALL: readonly Operation[] = [...ASK, 'VerificaSolicitudDescarga', 'Descargar']
const CHECK: Operation = 'VerificaSolicitudDescarga'

const of = (operation: Step['operation'], codes: readonly string[]): [string, Step][] =>
  codes.map((code) => [code, { ...(operation && { operation }), answer: { code } }])

const TROUBLES: Readonly<Record<string, Step>> = {
  html: { operation: ALL, answer: { page: true } },
  '503': { operation: ALL, answer: { page: true } },
  fault: { operation: ALL, answer: { fault: 'InternalServiceFault' } },
  closed: { operation: ALL, answer: { closed: true } },
  truncated: { operation: ALL, answer: { truncated: 'answer' } },
  slow: { operation: ALL, answer: { slowMs: 10_000 } },
  login: { operation: 'Autentica', answer: { page: true } },
  InvalidSecurity: { operation: 'Autentica', answer: { fault: 'InvalidSecurity' } },
  ...Object.fromEntries(of(ALL, ['300', '301', '302', '303', '304', '305', '404', '5006'])),
  ...Object.fromEntries(of(ASK, ['5001', '5002', '5003', '5005'])),
  ...Object.fromEntries(of('Descargar', ['5007', '5008'])),
  '5004': { operation: CHECK, answer: { code: '5000', state: '5', stateCode: '5004' } },
  accepted: { operation: CHECK, kind: 'Metadata', answer: { code: '5000', state: '1', stateCode: '5000' } },
  failed: { operation: CHECK, answer: { code: '5000', state: '4', stateCode: '5000' } },
}

export const TROUBLE_NAMES = Object.keys(TROUBLES)

/** The step of a text such as `304`, or `html:5` for five times. Null when it names no trouble. */
export function troubleOf(text: string): Step | null {
  const [, name = '', times] = /^(\w+)(?::(\d{1,4}))?$/.exec(text.trim()) ?? []
  const step = Object.hasOwn(TROUBLES, name) ? TROUBLES[name] : undefined
  return step === undefined ? null : { ...step, times: Number(times ?? 1) }
}

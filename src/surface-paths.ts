/** The paths that the Worker of surfaces answers, each with what lies below it. */
const PREFIXES = [
  '/v1/analytics',
  '/v1/blacklists/custom',
  '/v1/cfdi/concentration',
  '/v1/cfdi/deductions',
  '/v1/cfdi/repse-suppliers',
  '/v1/cfdi/risk',
  '/v1/cfdi/withholdings',
  '/v1/exports',
  '/v1/reports',
] as const

/** Those of its paths that a misspelled one may mean. */
export const SURFACE_PATHS: readonly string[] = [
  ...PREFIXES.slice(1),
  ...['concepts', 'efos-exposure', 'financing', 'fx-exposure', 'risk', 'vat-position'].map((name) => `${PREFIXES[0]}/${name}`),
]

/** A path as it was sent: an encoded spelling of a path is another path. */
export const pathOf = ({ url }: Pick<Request, 'url'>): string => /^[^?#]*/.exec(url)![0].slice(url.indexOf('/', 'https://'.length))

export function isOfSurfaces(path: string): boolean {
  return PREFIXES.some((prefix) => path === prefix || path.startsWith(`${prefix}/`))
}

import type { StorageConnector, StorageConnectorDraft } from '../../../api/routes.d.ts'

export type Provider = StorageConnector['provider']
export type Kind = StorageConnector['scope']['kinds'][number]

interface Member {
  name: string
  isOptional?: true
  type?: 'file' | 'password'
  /** What is used without it. */
  fallback?: string
}

export type Group = 'keys' | 'sas' | 'key' | 'service_account' | 'oauth'

const secret = (name: string): Member => ({ name, type: 'password' })
const optional = (name: string, fallback?: string): Member => ({ name, isOptional: true, fallback })

/** What each provider asks for: where the destination is, and the ways to be admitted to it. */
export const PROVIDERS: Record<Provider, { config: readonly Member[]; credentials: Partial<Record<Group, readonly Member[]>> }> = {
  s3: {
    config: [{ name: 'bucket' }, optional('region', 'us-east-1'), optional('endpoint')],
    credentials: { keys: [{ name: 'access_key_id' }, secret('secret_access_key'), { ...secret('session_token'), isOptional: true }] },
  },
  azure_blob: {
    config: [{ name: 'account' }, { name: 'container' }, optional('endpoint')],
    credentials: { sas: [secret('sas_token')], key: [secret('account_key')] },
  },
  google_drive: {
    config: [{ name: 'folder_id' }],
    credentials: {
      service_account: [{ name: 'service_account', type: 'file' }],
      oauth: [{ name: 'client_id' }, secret('client_secret'), secret('refresh_token')],
    },
  },
  onedrive: {
    config: [optional('tenant', 'common'), optional('drive_id'), optional('folder_id')],
    credentials: { oauth: [{ name: 'client_id' }, { ...secret('client_secret'), isOptional: true }, secret('refresh_token')] },
  },
}

/** Of every provider. */
const PLACE: readonly Member[] = [optional('prefix'), optional('path_template', '{rfc}/{yyyy}/{mm}/{direction}/{uuid}.xml')]

export const configOf = (provider: Provider): readonly Member[] => [...PROVIDERS[provider].config, ...PLACE]

export const KINDS = [
  ...([
    'cfdi_xml',
    'csf',
    'opinion_32d',
    'obligations',
    'declaracion',
    'acuse',
    'registration',
    'certificates',
    'rug',
    'buzon',
    'cfdi_pdf',
  ] as const),
] satisfies readonly Kind[]

/** A chosen file is not the key file of a service account. */
export class NotJson extends Error {}

const textIn = (form: FormData, name: string): string => String(form.get(name) ?? '').trim()

/** The place as it is sent. What is empty is left to the service; of a stored one (`isChange`) it is cleared, where it can be. */
export function readConfig(form: FormData, provider: Provider, isChange: boolean): StorageConnectorDraft['config'] {
  const cleared = (name: string) => (name === 'prefix' ? '' : ['endpoint', 'drive_id', 'folder_id'].includes(name) ? null : undefined)
  const members = configOf(provider).map(({ name }) => {
    const value = textIn(form, `config.${name}`)
    return [name, value === '' ? (isChange ? cleared(name) : undefined) : value] as const
  })
  return Object.fromEntries(members.filter(([, value]) => value !== undefined)) as StorageConnectorDraft['config']
}

/** The credentials as they are sent. Throws NotJson. */
export async function readCredentials(form: FormData, provider: Provider, group: Group): Promise<StorageConnectorDraft['credentials']> {
  const read: [string, unknown][] = []
  for (const { name, type } of PROVIDERS[provider].credentials[group] ?? []) {
    const given = form.get(`credentials.${name}`)
    if (type === 'file' && given instanceof File)
      read.push([
        name,
        await given
          .text()
          .then((text) => JSON.parse(text))
          .catch(() => {
            throw new NotJson()
          }),
      ])
    else if (given) read.push([name, String(given).trim()])
  }
  return Object.fromEntries(read) as StorageConnectorDraft['credentials']
}

import { GoogleDriveStandIn } from '../../copies/support/google-drive-stand-in.ts'
import { OneDriveStandIn } from '../../copies/support/onedrive-stand-in.ts'
import type { ScriptedProvider } from '../../copies/support/scripted.ts'
import { AZURE, HAS_MOTO, type Providers, S3 } from './providers.ts'

/** A place at a provider: as a connector is given it, and as its owner sees it. */
export interface Archive {
  settings: { provider: string; config: object; credentials: object }
  /** Whether a request, as `METHOD host/path`, is one to this provider; whether it sends a document. */
  isOurs(line: string): boolean
  isPut(line: string): boolean
  /** Everything that lies there: two of them when two have one path. */
  objects(): Promise<readonly { path: string; bytes: Uint8Array }[]>
}

/** The places at all providers that can be played here, by what the API calls each provider. Stand-ins answer for themselves from now on. */
export function archivesOf(providers: Providers): Record<string, Archive> {
  const kept = (provider: 's3' | 'azure') => async () =>
    [...(await providers.objects(provider))].map(([path, bytes]) => ({ path, bytes: new Uint8Array(bytes) }))
  const played = (standIn: ScriptedProvider, put: RegExp): Archive => {
    providers.standIns.push(standIn)
    const isOurs = (line: string) => standIn.hosts.some((host) => line.includes(` ${host}/`))
    return { settings: standIn.spec('right'), isOurs, isPut: (line) => put.test(line), objects: async () => standIn.objects() }
  }
  const hosted = (host: string, provider: 's3' | 'azure', settings: Archive['settings']): Archive => {
    const isOurs = (line: string) => line.includes(` ${host}/`)
    const isPut = (line: string) => isOurs(line) && line.startsWith('PUT ') && line.endsWith('.xml')
    return { settings, isOurs, isPut, objects: kept(provider) }
  }
  return {
    azure_blob: hosted(`${AZURE.account}.blob.core.windows.net`, 'azure', {
      provider: 'azure_blob',
      config: { account: AZURE.account, container: AZURE.container },
      credentials: { account_key: AZURE.key },
    }),
    ...(HAS_MOTO && {
      s3: hosted(`${S3.bucket}.s3.${S3.region}.amazonaws.com`, 's3', {
        provider: 's3',
        config: { bucket: S3.bucket },
        credentials: { access_key_id: S3.keyId, secret_access_key: S3.secret },
      }),
    }),
    google_drive: played(new GoogleDriveStandIn(), /^(?:POST|PATCH) www\.googleapis\.com\/upload\//),
    onedrive: played(new OneDriveStandIn(), /^PUT graph\.microsoft\.com\/.*\.xml:\/content$/),
  }
}

import { env } from 'cloudflare:workers'
import type { Organization } from '../../support/tenants.ts'
import { destinationsOver } from './destinations.ts'
import { S3StandIn } from './s3-stand-in.ts'

export const CONNECTORS = '/v1/storage-connectors'

/** The body of a request for a connector of each provider. */
export const DRAFTS = {
  s3: {
    provider: 's3',
    config: { bucket: 'fiscal-archive', region: 'mx-central-1' },
    credentials: { access_key_id: 'AKIDEXAMPLEOFTESTS01', secret_access_key: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' },
  },
  azure_blob: {
    provider: 'azure_blob',
    config: { account: 'fiscalarchive', container: 'cfdi-archive' },
    credentials: { sas_token: '?sv=2021-12-02&sp=rcwd&sig=c2VjcmV0LW9mLXRlc3Rz%2Bw%3D' },
  },
  google_drive: {
    provider: 'google_drive',
    config: { folder_id: '0AExampleOfTests' },
    credentials: {
      service_account: {
        type: 'service_account',
        client_email: 'copia@example.iam.gserviceaccount.com',
        private_key: '-----BEGIN PRIVATE KEY-----\nc2VjcmV0b2RlcHJ1ZWJhcw==\n-----END PRIVATE KEY-----\n',
      },
    },
  },
  onedrive: {
    provider: 'onedrive',
    config: {},
    credentials: { client_id: 'cliente', client_secret: 'secreto~de.pruebas_1', refresh_token: '0.AXoA-refresco_de_pruebas' },
  },
} as const
export type DraftedProvider = keyof typeof DRAFTS

/** A connector of an organization, through the front door. */
export async function connector(of: Organization, provider: DraftedProvider = 's3', more: object = {}) {
  const { status, body } = await of.ask('POST', CONNECTORS, { name: 'Respaldo', ...DRAFTS[provider], ...more })
  if (status !== 201) throw new Error(`creating a connector answered ${status}: ${JSON.stringify(body)}`)
  return { ...body, path: `${CONNECTORS}/${body.connector_id}` } as Record<string, unknown> & { connector_id: string; path: string }
}

export const rowOf = ({ connector_id }: { connector_id: string }) =>
  env.EVENTS_0.prepare('select * from storage_connectors where connector_id = ?').bind(connector_id).first<Record<string, never>>()

/** An S3 that the connectors of these drafts reach, and the URLs that are called. */
export function s3() {
  const standIn = new S3StandIn()
  const called: string[] = []
  const fetch = destinationsOver(async (url, init) => {
    const request = new Request(url, init)
    called.push(`${request.method} ${request.url}`)
    return standIn.answer(request)
  })
  return { standIn, called, fetch }
}

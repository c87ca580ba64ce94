import type { DataSourceKey, DocumentFile } from '../../port/authority.ts'
import type { MailboxNotification } from '../../port/mailbox.ts'
import type { AskedCfdi, CfdiStatus } from '../../port/status.ts'

/** A document whose bytes are in memory. */
export type InventedFile = Omit<DocumentFile, 'size' | 'sha256' | 'read'> & { bytes: Uint8Array }

export async function fileOf({ bytes, ...file }: InventedFile): Promise<DocumentFile> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
  // The reference fetcher runs in a Node whose arrays have no toHex().
  const sha256 = [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('')
  return { ...file, size: bytes.length, sha256, read: async () => bytes }
}

/** A cancellation that a test helper arranged. */
export interface CancellationOverride {
  cancelled_at: Date
  cancellation_reason: string | null
}

/** The data of the sandbox besides CFDIs. */
export interface SandboxDocuments {
  /** Returns the files of a document source on the day of an instant. */
  files(rfc: string, source: DataSourceKey, now: Date): Promise<InventedFile[]>
  /** Returns the notifications that the tax mailbox of the RFC shows at an instant. */
  notifications(rfc: string, now: Date): Promise<MailboxNotification[]>
  /** Returns the PDF of a notification's document. */
  letter(rfc: string, notification: MailboxNotification): Promise<Uint8Array>
  /** Returns the status service's answer about a CFDI, which a test helper may have cancelled, at an instant. */
  status(document: AskedCfdi, override: CancellationOverride | undefined, now: Date): Promise<CfdiStatus>
}

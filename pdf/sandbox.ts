import { WorkerEntrypoint } from 'cloudflare:workers'
import { filesOf } from '../src/authority/sandbox/documents/documents.ts'
import type { SandboxDocuments as Port } from '../src/authority/sandbox/documents/port.ts'
import { letterOf } from '../src/authority/sandbox/mailbox/letter.ts'
import { notificationsOf } from '../src/authority/sandbox/mailbox/notifications.ts'
import { statusOf } from '../src/authority/sandbox/statuses.ts'

/** Invents what the sandbox has beside CFDIs, and answers for its status service, for the sandbox in the API's Worker. */
export class SandboxDocuments extends WorkerEntrypoint implements Port {
  async files(...asked: Parameters<Port['files']>) {
    return filesOf(...asked)
  }

  async notifications(...asked: Parameters<Port['notifications']>) {
    return notificationsOf(...asked)
  }

  async letter(...asked: Parameters<Port['letter']>) {
    return letterOf(...asked)
  }

  async status(...asked: Parameters<Port['status']>) {
    return statusOf(...asked)
  }
}

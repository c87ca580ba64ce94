import { filesOf } from '../../../src/authority/sandbox/documents/documents.ts'
import type { SandboxDocuments } from '../../../src/authority/sandbox/documents/port.ts'
import { letterOf } from '../../../src/authority/sandbox/mailbox/letter.ts'
import { notificationsOf } from '../../../src/authority/sandbox/mailbox/notifications.ts'

/** The documents of the sandbox without the Worker that invents them. */
export const DOCUMENTS: SandboxDocuments = {
  files: async (...asked) => filesOf(...asked),
  notifications: async (...asked) => notificationsOf(...asked),
  letter: async (...asked) => letterOf(...asked),
}

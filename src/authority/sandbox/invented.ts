import type { SandboxDocuments } from './documents/port.ts'

/** Invents what is asked for. Its modules are loaded when they are first used. */
export const inventedDocuments: SandboxDocuments = {
  files: async (...asked) => (await import('./documents/documents.ts')).filesOf(...asked),
  notifications: async (...asked) => (await import('./mailbox/notifications.ts')).notificationsOf(...asked),
  letter: async (...asked) => (await import('./mailbox/notifications.ts')).letterOf(...asked),
  status: async (...asked) => (await import('./statuses.ts')).statusOf(...asked),
}

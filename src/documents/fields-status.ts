/** Whether a document has fields: it has none, they are to be read from its PDF, they are read, or they cannot be read. */
export const FIELDS_STATUSES = ['none', 'pending', 'read', 'unreadable'] as const

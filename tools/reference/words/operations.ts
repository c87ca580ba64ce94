/** What is to be known of operations that say it nowhere else, by operationId. */
export const OPERATIONS: Record<string, string> = {
  getReference: 'The page loads nothing from other hosts and works on a phone. It needs JavaScript; the guides do not.',
  getReferenceFile: 'A file that the page loads, or a guide.',
  getLlmsText: 'Every operation in one line, and where the documents are.',
  getOpenApi: 'The document of this environment. It may be cached for five minutes.',
  listFiscalEntities: 'Every connection that is not unlinked, oldest first, whatever its state is.',
  getFiscalEntity: 'The connection with its state, its logins, which are never shown, and your windows.',
  listStorageConnectors: 'Each with its state and what it copied last. Credentials are never shown.',
  getStorageConnector: 'The connector with its state and what it copied last. Credentials are never shown.',
  getSync: 'What is queued and running for the RFC, and how the downloads ended so far.',
  listImports: 'Each with its counts. The result of each file is in the import itself.',
  getImport:
    'Ask again until the status is `completed`. Each file then says whether it was created, updated, unchanged or rejected, and why.',
  getCfdi: 'The document as your windows show it. Lines, taxes and complements need the XML: without it they are empty.',
  listReports: 'The reports that can be asked for, with what each one is made of.',
  listAlerts: 'What needs a person: a login that was refused, a webhook that cannot be reached. Marking one as read changes nothing else.',
  listWebhooks: 'Signing secrets are never shown again.',
  getWebhook: 'The signing secret is never shown again.',
  getEvent: 'The event exactly as webhooks deliver it.',
  listCustomBlacklists: 'Only your organization sees and uses them.',
  getOrganization: 'The organization of the credential.',
  listMembers: 'Members who were removed are not listed.',
  listCredentials: 'Secrets are never shown again.',
  getOrganizationStats: 'Two numbers for a start page.',
  getBilling:
    'The state follows from the plan, the paid seats and the dates; it decides whether downloads go on. `GET /v1/billing/plans` has the links where a ' +
    'plan or a seat can be bought, `GET /v1/billing/invoices` what is to be paid.',
  getBillingPlan: 'A limit of null means that there is none.',
  listBillingRfcs: 'Each RFC that is connected, and whether it uses a seat.',
  listExports: 'Exports that are being made, and those whose content is kept or was not made.',
  getExport: 'How far the export is. Its content can be read when the state is `ready`, for seven days.',
}

const PLANS =
  '`GET /v1/billing/plans` has a link where you can buy each; in the sandbox `POST /v1/test-helpers/organization` with `{"plan": "api"}` gives it ' +
  'without a payment.'

/** What to do about a code; for others, what to do about their status. */
export const REMEDIES: Record<string, string> = {
  'credential.invalid':
    'Check that the key and the secret are whole, in this order, and of this environment. A revoked credential is replaced by an owner.',
  'credential.address': 'Send the request from one of the `allowed_addresses` of the credential, or ask an admin for another credential.',
  'credential.exceeds_maker':
    'Give the new credential no more than the one of the request has, or send the request with a credential that has it.',
  'credential.fiscal_entity': 'Name fiscal entities that `GET /v1/fiscal-entities` lists.',
  'credential.scopes': 'Choose scopes that the role has, or a higher role.',
  'credential.scope':
    'Use a credential with the scope that the message names. `x-required-scope` in the OpenAPI document says which one each operation needs.',
  'credential.role': 'Use a credential with one of the roles that the message names, or ask an owner for one.',
  'cursor.invalid': 'Begin without a cursor. Send a cursor only with the filters of the answer that it came with.',
  'data_source.inactive':
    'The source exists, and this deployment does not download it: leave it out. `is_active` in `GET /v1/fiscal-entities/data-sources` says which can be chosen.',
  'fiscal_entity.not_found':
    'Check the identifier with `GET /v1/fiscal-entities`. Those of other organizations are not told apart from those that do not exist.',
  'fiscal_entity.not_active':
    'The message says the state and the way out: send a new CIEC or e.firma, resume the connection, or pay. Keep what you have mirrored.',
  'fiscal_entity.already_linked': 'List the connections with `GET /v1/fiscal-entities` and use the one that there is.',
  'fiscal_entity.ciec_attempts':
    'Send the e.firma of the RFC, which refused CIECs do not hold up. Or wait as long as Retry-After says, and ask the taxpayer for the right CIEC first: more attempts would lock the account at the authority.',
  'email.unconfirmed':
    'Open the link in the mail that was sent to the address of the sign-up. `POST /v1/auth/email/resend` sends it again; look into the spam, too.',
  'email.confirmation_limit': 'Use the link in one of the mails, which is good for 24 hours, or wait as long as Retry-After says.',
  'idempotency.in_flight': 'The first request is still being carried out. Send the same one again in some seconds.',
  'idempotency.done': '`resource_id` names what the first request made: read it.',
  'idempotency.other_credential': 'Send the request with the credential that sent it first, or with a new key.',
  'request.invalid':
    '`errors` names what is wrong in form, each with its member or parameter. Mend all of it and send the request again. What only the data can tell is looked at afterwards, and refused one by one.',
  'request.malformed_json': 'The body is not JSON: look for a comma too many, or for text that is encoded twice.',
  'request.malformed_id': 'Identifiers look like `fe_01kabcdefghjkmnpqrstvwxyz0`. Check that the value is of the right kind and not cut.',
  'request.unknown_path': 'Check the path and the prefix /v1. The reference lists all paths.',
  'request.method_not_allowed': 'The header Allow names the methods of the path.',
  'request.rate_limit':
    'Wait as long as Retry-After says. Watch RateLimit, which says in every answer how much is left, spread requests over the minute, and ask with `limit=100`.',
  'request.content_encoding': 'Send the body uncompressed, and no `Content-Encoding`.',
  'request.content_type': 'Send `Content-Type: application/json`, or one of the types that the operation names.',
  'request.too_large': 'Send less in one request: divide the import, or the list.',
  'authority.sat_unavailable': 'Send the request again after Retry-After. Nothing was changed.',
  'authority.account_locked':
    'Do not send it again at once: each attempt is another login. Have the taxpayer unlock the account at the authority, or wait for Retry-After, an hour.',
  'billing.overdue':
    'Pay the open invoices that `GET /v1/billing/invoices` lists. In the sandbox `POST /v1/test-helpers/invoices/{invoice_id}/pay` pays one.',
  'billing.connection_paused':
    'Nothing is owed. Resume the RFC with `PATCH /v1/billing/rfcs/{fiscal_entity_id}` and `{"active": true}`, then unlink it. When the trial has ended, choose a plan first.',
  'billing.seats':
    'Buy a seat at `checkout_url`, or pause or unlink another RFC. In the sandbox `POST /v1/test-helpers/organization` with `{"rfc_allowance": 50}` adds seats.',
  'billing.trial_ended': `Choose a plan. ${PLANS}`,
  'billing.trial_rfcs': `The trial covers one RFC. Choose a plan. ${PLANS}`,
  'cfdi.xml_not_available':
    'Only metadata is held. `GET /v1/fiscal-entities/{fiscal_entity_id}/coverage/{source}/{month}` says why, and whether the XML is still to come.',
  would_notify: 'Reading it counts as being notified. Send `acknowledge_notification=true` if that is what you want.',
  'rfc.check_digit':
    'This is a warning: the RFC was accepted, because some real RFCs have another check digit. Compare it with the tax status certificate.',
  'service.unusable_settings': 'The operator of the service has to mend its settings. Send the request again later.',
  'delivery.pending': 'The delivery is still being tried. Wait for it to end.',
}

const LIMITED = 'Remove something that is not needed any more, or choose a larger plan: `GET /v1/billing/plan`.'

export function remedyOf(code: string, status: number): string {
  if (REMEDIES[code]) return REMEDIES[code]
  if (code.endsWith('.plan_limit')) return LIMITED
  if (code.endsWith('.changed')) return 'Others were changing the same thing at the same time. Send the request again.'
  if (code.endsWith('.cooldown')) return 'Wait as long as Retry-After says: it was asked for a short time ago.'
  if (code.endsWith('.not_found')) return 'Check the identifier, and that it is of your organization.'
  if (code.startsWith('efirma.')) return 'Send the certificate (.cer), the key (.key) and the password of a valid e.firma of this RFC.'
  return BY_STATUS[status] ?? 'Read the message: it says what to change.'
}

const BY_STATUS: Record<number, string> = {
  400: 'Mend the request: it cannot be understood. Sending it again unchanged does not help.',
  402: `Pay what \`GET /v1/billing/invoices\` lists, or choose a plan. ${PLANS}`,
  403: 'Another credential may do this: the message says which.',
  404: 'Check the identifier, and that it is of your organization.',
  409: 'The state does not permit it. The message says what to do first.',
  413: 'Send less in one request.',
  415: 'Send one of the content types that the operation names.',
  422: 'Mend what `errors` names, and send the request again.',
  429: 'Wait as long as Retry-After says.',
  503: 'Send the request again after Retry-After.',
}

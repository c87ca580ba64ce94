/** A member of `efirma` in a request. */
export type EfirmaMember = 'certificate' | 'private_key' | 'password'

const REASONS = {
  'efirma.certificate_unreadable': [
    'certificate',
    'Must be the content of the .cer file of the tax authority in base64, not its path: an X.509 certificate in DER. The certificate in PEM will do too.',
  ],
  'efirma.is_csd': ['certificate', 'Must be the certificate of an e.firma. This one is a digital seal (CSD), which names a branch.'],
  'efirma.without_rfc': ['certificate', 'Must be the certificate of a taxpayer. This one names no RFC.'],
  'efirma.other_rfc': ['certificate', 'Must be the certificate of this RFC. It names another one.'],
  'efirma.not_yet_valid': ['certificate', 'Must be valid now. This certificate is not valid yet.'],
  'efirma.expired': ['certificate', 'Must be valid now. This certificate has expired.'],
  'efirma.key_unreadable': [
    'private_key',
    'Must be the content of the .key file of the tax authority in base64, not its path: a private key in PKCS #8. The key in PEM will do too.',
  ],
  'efirma.key_unsupported': ['private_key', 'Must be an RSA key in PKCS #8, encrypted by PBES2 with PBKDF2 and 3DES or AES-CBC.'],
  'efirma.wrong_password': ['password', 'Must open the private key. This password does not.'],
  'efirma.key_mismatch': ['private_key', 'Must be the private key of this certificate. It belongs to another one.'],
} as const satisfies Record<string, readonly [EfirmaMember, string]>

export type EfirmaReason = keyof typeof REASONS

/** An e.firma cannot be used, and why. The message repeats nothing of it. */
export class EfirmaRefused extends Error {
  readonly code: EfirmaReason
  /** What has to be changed. */
  readonly member: EfirmaMember

  constructor(code: EfirmaReason) {
    const [member, message] = REASONS[code]
    super(message)
    this.code = code
    this.member = member
  }
}

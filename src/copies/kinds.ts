import { DOCUMENT_KINDS } from '../authority/port/authority.ts'

/** The kinds that a storage connector mirrors: all that the service holds. */
export const MIRRORED_KINDS = ['cfdi_xml', ...DOCUMENT_KINDS, 'buzon'] as const
export type MirroredKind = (typeof MIRRORED_KINDS)[number]

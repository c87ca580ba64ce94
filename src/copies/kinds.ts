/** The kinds that a storage connector can mirror, in the order of its members. */
export const MIRRORED_KINDS = ['cfdi_xml', 'csf', 'opinion_32d', 'declaracion', 'buzon', 'acuse'] as const
export type MirroredKind = (typeof MIRRORED_KINDS)[number]

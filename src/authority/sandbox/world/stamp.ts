import type { SandboxComprobante } from './comprobante.ts'
import { later } from './places.ts'
import { withCheckDigit } from './taxpayers.ts'

type Stamped = Pick<SandboxComprobante, 'uuid' | 'fecha' | 'lugar'>

const HOUR = 3600

/** Seconds between issuing and stamping: up to four minutes, and for one document in thirty from 1 to 72 hours. */
const waitOf = (uuid: string): number =>
  Number.parseInt(uuid.slice(2, 4), 16) % 30 === 0
    ? HOUR + Math.floor((Number.parseInt(uuid.slice(4, 8), 16) * 71 * HOUR) / 0x1_0000)
    : 5 + (Number.parseInt(uuid.slice(0, 2), 16) % 240)

/** When a document was stamped, in the local time of central Mexico. From then on the authority has it. */
export const stampedAt = ({ uuid, fecha, lugar }: Stamped): string => later(fecha, lugar.behind_center * HOUR + waitOf(uuid))

/** Returns a local time some seconds after a document was stamped, at its place. */
export const afterStamp = ({ uuid, fecha }: Stamped, seconds: number): string => later(fecha, waitOf(uuid) + seconds)

/** The RFC of the provider that stamped a document. */
export const pacOf = ({ uuid }: Stamped): string => withCheckDigit(uuid < '8' ? 'SPR190613I5' : 'MAS0810247C')

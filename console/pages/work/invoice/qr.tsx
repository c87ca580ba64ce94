import { useMemo } from 'preact/hooks'
import { qrCode } from './qr-code.ts'

const QUIET = 4
const SIZE = 132

/** A text as a QR code, dark on light in both looks: scanners need it so. */
export function Qr({ text, label }: { text: string; label: string }) {
  const rows = useMemo(() => qrCode(text), [text])
  if (!rows) return null
  const size = rows.length + 2 * QUIET
  const path = rows.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x + QUIET} ${y + QUIET}h1v1h-1z` : ''))).join('')
  return (
    <svg width={SIZE} height={SIZE} viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label} shape-rendering="crispEdges">
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  )
}

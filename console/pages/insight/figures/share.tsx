import type { ComponentChildren } from 'preact'
import { sizeOf } from '../../../charts/scale.ts'
import { rate } from './drill.tsx'
import css from './figures.module.css'

/** A share of a whole, in percent, with a bar beneath it. */
export const Share = ({ of }: { of: string | null }) => (
  <span class={css.share}>
    {rate(of)}
    {of !== null && (
      <svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
        <rect width="100" height="4" />
        <rect width={Math.max(0, Math.min(100, sizeOf(of)))} height="4" />
      </svg>
    )}
  </span>
)

/** Who or what a row is, with its code beneath it. */
export const Named = ({ name, code, children }: { name: string | null; code: string; children?: ComponentChildren }) => (
  <span class={css.named}>
    <b>{name ?? code}</b>
    {name !== null && <small>{code}</small>}
    {children}
  </span>
)

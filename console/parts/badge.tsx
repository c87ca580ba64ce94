import { Check, CircleAlert, CircleDashed, Clock, LoaderCircle } from 'lucide-preact'
import type { ComponentChildren } from 'preact'
import css from './badge.module.css'

export type Tone = 'good' | 'going' | 'wait' | 'bad' | 'idle'

const ICONS = { good: Check, going: LoaderCircle, wait: Clock, bad: CircleAlert, idle: CircleDashed } as const

/** A state: always a picture and a word beside its color. */
export function Badge({ tone, children }: { tone: Tone; children: ComponentChildren }) {
  const Icon = ICONS[tone]
  return (
    <span class={`${css.badge} ${css[tone]}`}>
      <Icon size={14} aria-hidden="true" />
      {children}
    </span>
  )
}

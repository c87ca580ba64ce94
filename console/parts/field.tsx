import type { ComponentChildren, InputHTMLAttributes, SelectHTMLAttributes } from 'preact'
import { useId, useRef, useState } from 'preact/hooks'
import { bytes } from '../format.ts'
import { useWords } from '../language.ts'
import css from './field.module.css'
import { words } from './words.ts'

interface Around {
  label: string
  hint?: ComponentChildren
  /** What is wrong with it: `faultOf(error, 'rfc')`. */
  fault?: string | undefined
}

interface Wired {
  id: string
  'aria-invalid'?: true
  'aria-describedby'?: string
}

function Around({ label, hint, fault, children }: Around & { children: (wired: Wired) => ComponentChildren }) {
  const id = useId()
  const described = [hint && `${id}-hint`, fault && `${id}-fault`].filter(Boolean).join(' ')
  return (
    <div class={css.field}>
      <label for={id}>{label}</label>
      {children({ id, ...(fault && { 'aria-invalid': true as const }), ...(described && { 'aria-describedby': described }) })}
      {hint && <small id={`${id}-hint`}>{hint}</small>}
      {fault && (
        <p id={`${id}-fault`} class={css.fault} role="alert">
          {fault}
        </p>
      )}
    </div>
  )
}

type InputProps = Around & Omit<InputHTMLAttributes<HTMLInputElement>, 'label'>

/** A field with its label, and beneath it what is wrong with it. */
export const Field = ({ label, hint, fault, ...input }: InputProps) => (
  <Around label={label} hint={hint} fault={fault}>
    {(wired) => <input {...input} {...wired} />}
  </Around>
)

type SelectProps = Around & Omit<SelectHTMLAttributes<HTMLSelectElement>, 'label'> & { children: ComponentChildren }

export const Select = ({ label, hint, fault, children, ...select }: SelectProps) => (
  <Around label={label} hint={hint} fault={fault}>
    {(wired) => (
      <select {...select} {...wired}>
        {children}
      </select>
    )}
  </Around>
)

type FileProps = Around & { name: string; accept: string; required?: boolean; onFile?: (file: File | null) => void }

/** A file picker whose words are ours: a browser's own are in the browser's language. */
export function FileField({ label, hint, fault, onFile, ...input }: FileProps) {
  const t = useWords(words)
  const own = useRef<HTMLInputElement>(null)
  const [file, set] = useState<File | null>(null)
  return (
    <Around label={label} hint={hint} fault={fault}>
      {(wired) => (
        <span class={css.file}>
          <input
            {...input}
            {...wired}
            type="file"
            ref={own}
            onChange={({ currentTarget }) => {
              const chosen = currentTarget.files?.[0] ?? null
              set(chosen)
              onFile?.(chosen)
            }}
          />
          <span aria-hidden="true">
            <b>{t.chooseFile}</b> {file ? `${file.name} (${bytes(file.size)})` : t.noFile}
          </span>
        </span>
      )}
    </Around>
  )
}

/** Fields under one another, with their buttons. */
export const Form = ({ onSubmit, children }: { onSubmit: (form: FormData) => void; children: ComponentChildren }) => (
  <form
    class={css.form}
    noValidate={false}
    onSubmit={(event) => {
      event.preventDefault()
      onSubmit(new FormData(event.currentTarget))
    }}
  >
    {children}
  </form>
)

export const Actions = ({ children }: { children: ComponentChildren }) => <div class={css.actions}>{children}</div>

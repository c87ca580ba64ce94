import type { ComponentChildren } from 'preact'
import type { Role } from '../../api/routes.d.ts'
import { useWords } from '../../language.ts'
import { Button } from '../../parts/button.tsx'
import { Copy } from '../../parts/copy.tsx'
import { Select } from '../../parts/field.tsx'
import { Panel } from '../../parts/page.tsx'
import { useSession } from '../../session.ts'
import css from './account.module.css'
import { words } from './words.ts'

const ROLES: readonly Role[] = ['member', 'admin', 'owner']

/** Chooses a role, the one that may least first. Only an owner gives the role of owners. */
export function RoleField({ value, choose, fault }: { value: Role; choose: (role: Role) => void; fault?: string | undefined }) {
  const t = useWords(words)
  const { role: own } = useSession()
  return (
    <Select
      label={t.role}
      hint={t.may[value]}
      name="role"
      fault={fault}
      value={value}
      onChange={({ currentTarget }) => choose(currentTarget.value as Role)}
    >
      {ROLES.map((role) => (
        <option key={role} value={role} disabled={role === 'owner' && own !== 'owner'}>
          {t.choices[role]}
        </option>
      ))}
    </Select>
  )
}

/** Who is needed for a change of somebody with this role. */
export const needsFor = (role: Role): 'owner' | 'admin' => (role === 'owner' ? 'owner' : 'admin')

/** What an answer shows this once. It stays on the page until somebody says that it is kept. */
export function Once({ title, lead, copy, label, done, children }: OnceProps) {
  const t = useWords(words)
  return (
    <Panel title={title} lead={lead}>
      <div class={css.once} role="status">
        {children}
        <p>{t.onlyNow}</p>
        <span class={css.row}>
          <Copy text={copy} label={label} />
          <Button small kind="quiet" onClick={done}>
            {t.kept}
          </Button>
        </span>
      </div>
    </Panel>
  )
}

interface OnceProps {
  title: string
  lead: string
  /** What its button copies, and what that is called. */
  copy: string
  label: string
  done: () => void
  children: ComponentChildren
}

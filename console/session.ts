import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Session } from './api/client.ts'

export const SessionContext = createContext<Session | null>(null)

/** Who is signed in. Every page has somebody. */
export function useSession(): Session {
  const session = useContext(SessionContext)
  if (!session) throw new Error('Nobody is signed in.')
  return session
}

/** The zone in which instants are shown. */
export const useZone = (): string => useSession().organization.timezone

/** Owners and admins change things. Members read: their buttons are disabled, and say why (`<Button needs="admin">`). */
export const useMayWrite = (): boolean => useSession().role !== 'member'

import { AsyncLocalStorage } from 'node:async_hooks'
import type { ActorKind } from '@prepaint/contract/audit-actions.ts'

/** `id`: of a person or an API key. */
export type AuditActor = { kind: ActorKind; id: number | null; name: string }

/** Who acts, and from where. `way`: how a person has signed in. */
export type Acting = {
  actor: AuditActor
  way: string | null
  address: string | null
  userAgent: string | null
  requestId: string | null
}

/** What no request and no command asked for. */
const SYSTEM: Acting = {
  actor: { kind: 'system', id: null, name: 'system' },
  way: null,
  address: null,
  userAgent: null,
  requestId: null,
}

export const COMMAND_LINE_ACTING: Acting = {
  ...SYSTEM,
  actor: { kind: 'command_line', id: null, name: 'command line' },
}

/**
 * Every change has somebody who makes it, however deep it is made: a parameter through all functions would be the same value
 * everywhere. The API sets it for each request, the command line for each command.
 */
const current = new AsyncLocalStorage<Acting>()

/** Runs `work`. Entries of the audit log that it writes name `acting`. */
export function actAs<T>(acting: Acting, work: () => T): T {
  return current.run(acting, work)
}

/** Runs `work` as a person who has proven to be one, in a request that came without a session. */
export function actAsPerson<T>(person: { id: number; email: string }, work: () => T): T {
  return actAs(asPerson(person), work)
}

/** Who acts now, as this person. */
export function asPerson({ id, email }: { id: number; email: string }): Acting {
  return { ...whoActs(), actor: { kind: 'person', id, name: email } }
}

/** Returns who acts now: a background task acts as the system. */
export function whoActs(): Acting {
  return current.getStore() ?? SYSTEM
}

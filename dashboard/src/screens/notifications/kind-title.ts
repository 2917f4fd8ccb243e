import { type IncidentKind, KINDS } from '@prepaint/contract/notifications/kinds.ts'

/** Names a kind of incident at the start of a sentence. */
export function kindTitle(kind: IncidentKind): string {
  const { words } = KINDS[kind]
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`
}
